package domain

import (
	"errors"
	"fmt"
	"time"

	"github.com/kairosd/kairosd/planner/walk"
)

// Code classifies an [Error] for programs.
type Code string

const (
	CodeInvalid      Code = "invalid"       // bad input: 422 or 400
	CodeNotFound     Code = "not_found"     // 404
	CodeConflict     Code = "conflict"      // 409: it changed since you read it
	CodeNotResumable Code = "not_resumable" // 409: fork instead
	CodeStale        Code = "stale"         // 409: the digest or revision is outdated
	CodeAlreadyDone  Code = "already_done"  // 409: carried out with the same key, and the secret is shown only once
	CodeForbidden    Code = "forbidden"     // 403
	CodeUnauthorized Code = "unauthorized"  // 401
	CodeTooLarge     Code = "too_large"     // 413
	CodeTooMany      Code = "too_many"      // 429
	CodeUnavailable  Code = "unavailable"   // 503: stopping, or the storage failed
	CodeLocked       Code = "locked"        // another process holds the database
	CodeNoSpace      Code = "no_space"      // 507
	CodeCorrupt      Code = "corrupt"       // stored data does not match its checksum
	CodeInternal     Code = "internal"      // 500
)

// ReasonCancelling is the reason of a conflict if a run is being cancelled.
const ReasonCancelling = "cancelling"

// ReasonInDoubt is the reason of a conflict if an operation may or may not have had its effect, so
// that a person must decide.
const ReasonInDoubt = "in_doubt"

// Error is an error with a code for programs, a message and a suggestion for people, and a cause
// for the log.
type Error struct {
	Code       Code
	Message    string
	Suggestion string
	// text and advice are Message and Suggestion with their arguments kept apart. If they are zero,
	// the texts are not translated.
	text, advice Message
	// Reason refines the code for programs, for example "fork_point_open".
	Reason string
	// RetryAfter is the time to wait before a retry. 0 means unknown.
	RetryAfter time.Duration
	Cause      error
	// Audited reports that the refusal has been recorded in the audit log.
	Audited bool
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf returns an [*Error]. A %w in the format sets its cause.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Cause: errors.Unwrap(err), text: Messagef(format, args...)}
}

// NewError returns an [*Error] with a message and a suggestion, which may be zero.
func NewError(code Code, text, advice Message) *Error {
	return &Error{Code: code, Message: text.String(), Suggestion: advice.String(), text: text, advice: advice}
}

// Suggest sets the suggestion of e and returns e.
func (e *Error) Suggest(format string, args ...any) *Error {
	e.Suggestion, e.advice = fmt.Sprintf(format, args...), Messagef(format, args...)
	return e
}

// FailureError converts a failure to an [*Error].
func FailureError(code Code, f *walk.Failure) *Error {
	return &Error{Code: code, Message: f.Message, Suggestion: f.Suggestion, Cause: f, text: f.Localize()}
}

// Localize returns the message with its arguments.
func (e *Error) Localize() Message {
	if e.text.IsZero() {
		return Verbatim(e.Message)
	}
	return e.text
}

// Advice returns the suggestion with its arguments.
func (e *Error) Advice() Message {
	if e.advice.IsZero() {
		return Verbatim(e.Suggestion)
	}
	return e.advice
}

// CodeOf returns the code of the first [*Error] that err wraps. It returns CodeInternal for any
// other error, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}
