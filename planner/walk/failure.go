package walk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kairosd/kairosd/planner/message"
)

// Stable failure codes of the walk and of handlers.
const (
	CodeUnresolvedReference = "unresolved_reference"
	CodeMaxVisits           = "max_visits"
	CodeCondition           = "condition_failed"
	CodeNoEdge              = "no_edge_matched"
	CodeTimeout             = "timeout"
	CodePanic               = "panic"
	CodeCancelled           = "cancelled"
	CodeChildCancelled      = "child_cancelled"
	CodeOutput              = "output_not_json"
	CodeOutputTooLarge      = "output_too_large"
	CodeForeach             = "foreach_not_a_list"
	CodeForeachLimit        = "foreach_limit"
	CodeUnknownType         = "unknown_type"
	CodeUnknownTool         = "unknown_tool"
	CodeInvalidInput        = "invalid_input"
	CodePolicy              = "policy"
	CodeInDoubt             = "in_doubt" // it may have had its effect, and it is unknown
	CodeRejected            = "rejected" // by a person, or by the time for an answer
	CodeFailed              = "failed"   // any other error of a handler
)

// Failure is why a node failed, in a form that survives storage: handlers may
// return one (or wrap one) to say more than a plain error can.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Text is Message with its arguments kept apart, as [message.Message.Encode] writes it.
	// Empty: Message is the text of a tool, a provider, or a model, and is never translated.
	Text string `json:"text,omitempty"`
	// Suggestion states what the operator can do.
	Suggestion string `json:"suggestion,omitempty"`
	// Node is where it happened; filled in by the walk.
	Node string `json:"node,omitempty"`
	// Permanent errors cannot heal and are not retried.
	Permanent bool `json:"permanent,omitempty"`
	// NoEffect means that it is certain that nothing happened outside (connection
	// refused, rejected before dispatch, a definite 4xx). Without it, a failed
	// attempt of an unsafe node is in doubt.
	NoEffect bool `json:"noEffect,omitempty"`
	// RetryAfter is the least wait that the other side asked for.
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
	// Detail is the cause as text: for the log and the inspector.
	Detail string `json:"detail,omitempty"`
	// Request is what the other side calls the request that failed: its support
	// asks for it.
	Request string `json:"request,omitempty"`
	// Behind is the failure behind this one, of a call that was not made since those
	// before it had failed so: a run that fails by it has failed like those.
	Behind *Behind `json:"behind,omitempty"`
	cause  error
}

// Behind names a failure that led to another.
type Behind struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Text    string `json:"text,omitempty"` // like Failure.Text
}

func (f *Failure) Error() string { return f.Message }

// WithMessage sets the message of f and returns f. The format is a constant, the key of its
// translations. Texts of tools, providers, and models are arguments.
func (f *Failure) WithMessage(format string, args ...any) *Failure {
	f.Message, f.Text = fmt.Sprintf(format, args...), message.New(format, args...).Encode()
	return f
}

// Localize returns the message with its arguments.
func (f *Failure) Localize() message.Message { return message.Decode(f.Text, f.Message) }

// Unwrap returns the error that caused f, if it is still in memory.
func (f *Failure) Unwrap() error { return f.cause }

// WithCause returns f with its cause set.
func (f *Failure) WithCause(err error) *Failure {
	f.cause = err
	if f.Detail == "" && err != nil {
		f.Detail = err.Error()
	}
	return f
}

// AsFailure turns any error into a Failure: itself if it wraps one, code
// "timeout" or "cancelled" for context errors, else "failed".
func AsFailure(err error) *Failure {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return (&Failure{Code: CodeTimeout}).WithMessage("timed out").WithCause(err)
	case errors.Is(err, context.Canceled):
		return (&Failure{Code: CodeCancelled}).WithMessage("cancelled").WithCause(err)
	}
	return (&Failure{Code: CodeFailed}).WithMessage("%s", err).WithCause(err)
}

// CopyFailure is [AsFailure] as a value of this run's own, which wraps all of err: the
// walk sets its node, and a handler may return the same error again.
func CopyFailure(err error) *Failure {
	f := *AsFailure(err)
	f.cause = err
	return &f
}
