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
	CodePlanNotListed       = "plan_not_listed" // the computed name of a plan is not in the list of the node
	CodePlanFailed          = "plan_failed"     // by a node of type fail without a code
	CodeResult              = "result_failed"   // the plan's result refers to nothing
	CodeRunTimeout          = "run_timeout"     // the run has not ended within the timeout of its plan
	CodeUnknownType         = "unknown_type"
	CodeUnknownTool         = "unknown_tool"
	CodeInvalidInput        = "invalid_input"
	CodePolicy              = "policy"
	CodeInDoubt             = "in_doubt" // the attempt may have had its effect; its outcome is unknown
	CodeRejected            = "rejected" // a person rejected it, or the time for an answer ended
	CodeFailed              = "failed"   // any other error of a handler
)

// Failure describes why a node failed, in a form that can be stored. Handlers return one, or wrap
// one, to give details that a plain error cannot: whether a retry can help, and whether the attempt
// may have had its effect.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Text is Message with its arguments kept apart, as [message.Message.Encode] writes it. If it
	// is empty, Message is the text of a tool, a provider, or a model, and is never translated.
	Text string `json:"text,omitempty"`
	// Suggestion states what the operator can do.
	Suggestion string `json:"suggestion,omitempty"`
	// Node is the ID of the node that failed. The walk sets it.
	Node string `json:"node,omitempty"`
	// Permanent means that a retry cannot help, so the attempt is not repeated.
	Permanent bool `json:"permanent,omitempty"`
	// NoEffect means that the attempt certainly had no effect on another system, for example
	// because the connection was refused or the request was rejected with a 4xx status. Without it,
	// a failed attempt of an unsafe node is in doubt.
	NoEffect bool `json:"noEffect,omitempty"`
	// RetryAfter is the minimum wait that the other system requested. 0 means none.
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
	// Detail is the text of the cause, for the log and for diagnosis.
	Detail string `json:"detail,omitempty"`
	// Request is the ID that the other system gave to the failed request. Its support needs the ID.
	Request string `json:"request,omitempty"`
	// FailureCause is set if the call was not made because earlier calls had failed. It holds the failure
	// of those calls, so that such runs are grouped with the runs of that failure.
	CausedBy *FailureCause `json:"causedBy,omitempty"`
	cause    error
}

// FailureCause is a failure that caused another one.
type FailureCause struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Text    string `json:"text,omitempty"` // like Failure.Text
}

func (f *Failure) Error() string { return f.Message }

// WithMessage sets the message of f and returns f. The format must be a constant, because it is the
// key of its translations. Texts of tools, providers, and models are arguments.
func (f *Failure) WithMessage(format string, args ...any) *Failure {
	f.Message, f.Text = fmt.Sprintf(format, args...), message.New(format, args...).Encode()
	return f
}

// Localize returns the message with its arguments.
func (f *Failure) Localize() message.Message { return message.Decode(f.Text, f.Message) }

// Unwrap returns the error that caused f, if it is still in memory.
func (f *Failure) Unwrap() error { return f.cause }

// WithCause sets the cause of f and returns f. The cause is not stored.
func (f *Failure) WithCause(err error) *Failure {
	f.cause = err
	if f.Detail == "" && err != nil {
		f.Detail = err.Error()
	}
	return f
}

// AsFailure converts an error to a Failure. It returns the failure that err wraps, if any.
// Otherwise, the code is "timeout" or "cancelled" for errors of a context, and "failed" for other
// errors.
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

// CopyFailure is [AsFailure], but returns a copy that wraps err. The walk sets the node of the
// copy. This matters because a handler may return the same error more than once.
func CopyFailure(err error) *Failure {
	f := *AsFailure(err)
	f.cause = err
	return &f
}
