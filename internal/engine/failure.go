package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// Causes with which the context of a handler ends; context.Cause tells which.
var (
	// ErrStopping: the daemon shuts down; the attempt counts as interrupted.
	ErrStopping = errors.New("kairosd is stopping")
	// ErrCancelled: the run was cancelled.
	ErrCancelled = errors.New("the run was cancelled")
	// ErrTimeout: the node's timeout has passed.
	ErrTimeout = errors.New("timed out")
	// ErrFenced: another writer has taken over the run.
	ErrFenced = errors.New("another writer has taken over the run")
)

const (
	codeInterrupted = "interrupted"
	codeChildFailed = "child_failed"
	codeRecursion   = "recursion"
	codeUnknownPlan = "unknown_plan"
)

// Answers in resolve rows.
const (
	actionHappened = "happened"
	actionGiven    = "given" // a result that stands in for running it
	actionRetry    = "retry"
	actionSkip     = "skip"
	actionFail     = "fail"
	actionLate     = "late"
	actionChild    = "child"
	actionDue      = "due"
)

func toPlanner(f *domain.Failure) *planner.Failure {
	if f == nil {
		return nil
	}
	return &planner.Failure{Code: f.Code, Message: f.Message, Suggestion: f.Suggestion, Node: f.Node,
		Permanent: f.Permanent, NoEffect: f.NoEffect, RetryAfter: f.RetryAfter, Detail: f.Detail, Request: f.Request, Behind: (*planner.Behind)(f.Behind)}
}

func fromPlanner(f *planner.Failure, node string) *domain.Failure {
	if f == nil {
		return nil
	}
	k := &domain.Failure{Code: f.Code, Message: f.Message, Suggestion: f.Suggestion, Node: f.Node,
		Permanent: f.Permanent, NoEffect: f.NoEffect, RetryAfter: f.RetryAfter, Detail: f.Detail, Causes: causesOf(f), Request: f.Request, Behind: (*domain.Behind)(f.Behind)}
	if k.Code == "" {
		k.Code = planner.CodeFailed
	}
	if k.Node == "" {
		k.Node = node
	}
	if k.Detail == k.Message {
		k.Detail = ""
	}
	return k
}

// Bounds of the causes that are kept.
const (
	maxCauses = 8
	maxCause  = 500
)

// causesOf are the errors below a failure, from the outside in; none if the only
// one says no more than the failure does.
func causesOf(f *planner.Failure) []string {
	var out []string
	last := f.Message
	for err := f.Unwrap(); err != nil && len(out) < maxCauses; err = errors.Unwrap(err) {
		if text := strings.ToValidUTF8(clipText(err.Error(), maxCause), "\uFFFD"); text != last {
			out, last = append(out, text), text
		}
	}
	if len(out) == 1 && out[0] == f.Detail {
		return nil
	}
	return out
}

// maskFailure takes secrets out of what a failure says.
func (e *Engine) maskFailure(f *domain.Failure) {
	f.Message, f.Detail, f.Suggestion = e.mask(f.Message), e.mask(f.Detail), e.mask(f.Suggestion)
	for i := range f.Causes {
		f.Causes[i] = e.mask(f.Causes[i])
	}
	if b := f.Behind; b != nil {
		f.Behind = &domain.Behind{Code: b.Code, Message: e.mask(b.Message)}
	}
}

func interrupted(why string) *domain.Failure {
	return &domain.Failure{Code: codeInterrupted, Message: why}
}

// panicError is a handler's panic with its stack (SPEC 4.10).
type panicError struct {
	value any
	stack string
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }
