package runstate

import (
	"errors"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// CodeInterrupted is the failure code of an attempt that a shutdown, a crash, or a limit
// of the run ended.
const CodeInterrupted = "interrupted"

// ToPlanner is the failure as the plan language has it; nil for nil.
func ToPlanner(f *domain.Failure) *walk.Failure {
	if f == nil {
		return nil
	}
	return &walk.Failure{Code: f.Code, Message: f.Message, Text: f.Text, Suggestion: f.Suggestion, Node: f.Node,
		Permanent: f.Permanent, NoEffect: f.NoEffect, RetryAfter: f.RetryAfter, Detail: f.Detail, Request: f.Request,
		Behind: (*walk.Behind)(f.Behind)}
}

// FromPlanner is the failure as the journal keeps it; nil for nil. node is used if the
// failure names no node.
func FromPlanner(f *walk.Failure, node string) *domain.Failure {
	if f == nil {
		return nil
	}
	k := &domain.Failure{Code: f.Code, Message: f.Message, Text: f.Text, Suggestion: f.Suggestion, Node: f.Node,
		Permanent: f.Permanent, NoEffect: f.NoEffect, RetryAfter: f.RetryAfter, Detail: f.Detail, Causes: causesOf(f),
		Request: f.Request, Behind: (*domain.Behind)(f.Behind)}
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

// Bounds of the causes that are kept.
const (
	maxCauses = 8
	maxCause  = 500
)

// causesOf are the errors below a failure, from the outside in; none if the only
// one adds nothing to the failure.
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

// Interrupted is the failure of an interrupted attempt.
func Interrupted(format string, args ...any) *domain.Failure {
	return (&domain.Failure{Code: CodeInterrupted}).WithMessage(format, args...)
}
