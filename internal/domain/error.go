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
	CodeInvalid      Code = "invalid"       // bad input: 422 / 400
	CodeNotFound     Code = "not_found"     // 404
	CodeConflict     Code = "conflict"      // 409: changed since you looked
	CodeNotResumable Code = "not_resumable" // 409: fork instead
	CodeStale        Code = "stale"         // 409: digest or revision is old
	CodeAlreadyDone  Code = "already_done"  // 409: by the same key, and the secret is shown once
	CodeForbidden    Code = "forbidden"     // 403
	CodeUnauthorized Code = "unauthorized"  // 401
	CodeTooLarge     Code = "too_large"     // 413
	CodeTooMany      Code = "too_many"      // 429
	CodeUnavailable  Code = "unavailable"   // 503: stopping, storage gone
	CodeLocked       Code = "locked"        // another process holds the database
	CodeNoSpace      Code = "no_space"      // 507
	CodeCorrupt      Code = "corrupt"       // stored data fails its checksum
	CodeInternal     Code = "internal"      // 500
)

// ReasonInDoubt refines a conflict: something may or may not have happened, and a person
// must decide which.
const ReasonInDoubt = "in_doubt"

// Error is a failure for its three readers: a code for programs, a message and
// a suggestion for people, a cause for the log.
type Error struct {
	Code       Code
	Message    string
	Suggestion string
	// text and advice are Message and Suggestion with their arguments kept apart; zero:
	// they are not translated.
	text, advice Message
	// Reason refines the code for programs, e.g. "fork_point_open".
	Reason string
	// RetryAfter is how long to wait before trying again; 0: unknown.
	RetryAfter time.Duration
	Cause      error
	// Audited reports that the refusal is in the audit log already.
	Audited bool
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an [*Error]; a %w in the format sets its cause.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Cause: errors.Unwrap(err), text: Messagef(format, args...)}
}

// NewError makes an [*Error] of a message, and of a suggestion, which may be zero.
func NewError(code Code, text, advice Message) *Error {
	return &Error{Code: code, Message: text.String(), Suggestion: advice.String(), text: text, advice: advice}
}

// Suggest returns e with a suggestion.
func (e *Error) Suggest(format string, args ...any) *Error {
	e.Suggestion, e.advice = fmt.Sprintf(format, args...), Messagef(format, args...)
	return e
}

// FailureError makes an [*Error] of a failure.
func FailureError(code Code, f *walk.Failure) *Error {
	return &Error{Code: code, Message: f.Message, Suggestion: f.Suggestion, Cause: f, text: f.Localize()}
}

// Localize is the error's text, to be shown in the reader's language.
func (e *Error) Localize() Message {
	if e.text.IsZero() {
		return Verbatim(e.Message)
	}
	return e.text
}

// Advice is the error's suggestion, to be shown in the reader's language.
func (e *Error) Advice() Message {
	if e.advice.IsZero() {
		return Verbatim(e.Suggestion)
	}
	return e.advice
}

// CodeOf returns the code of the first [*Error] that err wraps, "internal" for
// any other error, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}
