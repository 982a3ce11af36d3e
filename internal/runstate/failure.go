package runstate

import (
	"errors"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// CodeInterrupted is the failure code of an attempt that was ended by a shutdown, a crash, or a
// limit of the run.
const CodeInterrupted = "interrupted"

// ToPlanner converts a failure to the type of package walk. It returns nil for nil.
func ToPlanner(f *domain.Failure) *walk.Failure {
	if f == nil {
		return nil
	}
	return &walk.Failure{Code: f.Code, Message: f.Message, Text: f.Text, Suggestion: f.Suggestion, Node: f.Node,
		Permanent: f.Permanent, NoEffect: f.NoEffect, RetryAfter: f.RetryAfter.Duration(), Detail: f.Detail, Request: f.Request,
		CausedBy: (*walk.FailureCause)(f.CausedBy)}
}

// FromPlanner converts a failure to the type of the journal. It returns nil for nil. node is used
// if the failure does not name a node.
func FromPlanner(f *walk.Failure, node string) *domain.Failure {
	if f == nil {
		return nil
	}
	k := &domain.Failure{Code: f.Code, Message: f.Message, Text: f.Text, Suggestion: f.Suggestion, Node: f.Node,
		Permanent: f.Permanent, NoEffect: f.NoEffect, RetryAfter: domain.Millis(f.RetryAfter), Detail: f.Detail, Causes: causesOf(f),
		Request: f.Request, CausedBy: (*domain.FailureCause)(f.CausedBy)}
	if k.Code == "" {
		k.Code = walk.CodeFailed
	}
	if k.Node == "" {
		k.Node = node
	}
	if k.Detail == k.Message {
		k.Detail = ""
	}
	return k
}

// Limits of stored causes.
const (
	maxCauses = 8
	maxCause  = 500
)

// causesOf returns the messages of the wrapped errors, outermost first. It returns nothing if the
// only one repeats the failure.
func causesOf(f *walk.Failure) []string {
	var out []string
	last := f.Message
	for err := f.Unwrap(); err != nil && len(out) < maxCauses; err = errors.Unwrap(err) {
		if text := strings.ToValidUTF8(ClipText(err.Error(), maxCause), "\uFFFD"); text != last {
			out, last = append(out, text), text
		}
	}
	if len(out) == 1 && out[0] == f.Detail {
		return nil
	}
	return out
}

// Interrupted returns the failure of an interrupted attempt.
func Interrupted(format string, args ...any) *domain.Failure {
	return (&domain.Failure{Code: CodeInterrupted}).WithMessage(format, args...)
}
