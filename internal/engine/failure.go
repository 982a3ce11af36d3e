package engine

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kairosd/kairosd/internal/domain"
)

// Causes of the end of a handler's context, as context.Cause returns them.
var (
	// ErrStopping means that the daemon is shutting down. The attempt counts as interrupted.
	ErrStopping = errors.New("kairosd is stopping")
	// ErrCancelled means that the run was cancelled.
	ErrCancelled = errors.New("the run was cancelled")
	// ErrTimeout means that the timeout of the node has passed.
	ErrTimeout = errors.New("timed out")
	// ErrFenced means that another writer has taken over the run.
	ErrFenced = errors.New("another writer has taken over the run")
)

const (
	CodeInterrupted = "interrupted"
	codeRecursion   = "recursion"
	codeUnknownPlan = "unknown_plan"
)

// maskFailure replaces secrets in the texts of a failure.
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

// panicError is the panic of a handler with its stack.
type panicError struct {
	value any
	stack string
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// detail encodes the detail of an audit record.
func detail(v map[string]any) domain.RawJSON {
	b, err := json.Marshal(v)
	if err != nil {
		return nil // the values are plain
	}
	return b
}
