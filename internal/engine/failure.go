package engine

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kairosd/kairosd/internal/domain"
)

// Causes with which the context of a handler ends; context.Cause shows which.
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
	CodeInterrupted = "interrupted"
	codeRecursion   = "recursion"
	codeUnknownPlan = "unknown_plan"
)

// maskFailure takes secrets out of the texts of a failure.
func (s *setup) maskFailure(f *domain.Failure) {
	f.Text = f.Localize().Map(s.mask).Encode()
	f.Message, f.Detail, f.Suggestion = s.mask(f.Message), s.mask(f.Detail), s.mask(f.Suggestion)
	for i := range f.Causes {
		f.Causes[i] = s.mask(f.Causes[i])
	}
	if b := f.CausedBy; b != nil {
		text := domain.DecodeMessage(&b.Text, b.Message).Map(s.mask).Encode()
		f.CausedBy = &domain.FailureCause{Code: b.Code, Message: s.mask(b.Message), Text: text}
	}
}

// panicError is a handler's panic with its stack.
type panicError struct {
	value any
	stack string
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// detail encodes the details of an audit record.
func detail(v map[string]any) domain.RawJSON {
	b, err := json.Marshal(v)
	if err != nil {
		return nil // plain values only
	}
	return b
}
