// Package model contains the common code of model providers: the classification of their errors,
// and an HTTP client that trusts no server.
package model

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/planner/walk"
)

// Codes of a failed model call. A model call has no side effect, so every failure has NoEffect.
// Permanent decides whether a retry can help.
const (
	CodeRejected    = "provider_rejected"    // the request is invalid
	CodeAuth        = "provider_auth"        // the key is wrong or lacks permission
	CodeTooLong     = "context_too_long"     // the conversation is too long
	CodeRateLimited = "rate_limited"         // too many requests or tokens for now
	CodeUnavailable = "provider_unavailable" // no connection, or the server failed
	CodeTruncated   = "llm_truncated"        // the answer ended early
	CodeMaxTokens   = "llm_max_tokens"       // the answer was longer than allowed
	CodeRefused     = "llm_refused"          // the model or a filter refused
	CodeOversized   = "llm_oversized"        // the answer is too large to store
)

// MaxRetryAfter is the longest wait that a server may request.
const MaxRetryAfter = time.Minute

// StatusError is an answer other than 2xx. [Client] creates it for every such answer, so that the
// SDKs' own parsing of error bodies does not matter.
type StatusError struct {
	Status     int
	RetryAfter time.Duration // 0: unknown
	Body       string        // the beginning of the body
	Request    string        // the server's id of the request
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("status %d: %s", e.Status, strings.TrimSpace(e.Body))
}

// Failure classifies the error of a model call. name is the name of the provider in the
// configuration.
func Failure(ctx context.Context, name string, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errIdle) && !errors.Is(cause, errEndless) {
		return cause
	}
	if f, ok := errors.AsType[*walk.Failure](err); ok {
		return f
	}
	if e, ok := errors.AsType[*StatusError](err); ok {
		return e.failure(name)
	}
	f := (&walk.Failure{
		Code:     CodeUnavailable,
		NoEffect: true,
	}).WithMessage("the provider %s cannot be reached: %v", name, short(err))
	switch {
	case errors.Is(err, errOversized):
		f.Code, f.Permanent = CodeOversized, true
		f.WithMessage("the response of the provider %s is larger than %d MiB", name, maxBody>>20)
	case errors.Is(err, errIdle):
		f.WithMessage("the provider %s sent nothing for %s", name, usual.idle)
	case errors.Is(err, errEndless):
		f.WithMessage("the provider %s did not finish within %s", name, usual.total)
	case errors.Is(err, errRedirect):
		f.Permanent = true
		f.WithMessage("the provider %s returned a redirect to another host, which is refused", name)
		f.Suggestion = "set base_url to the address of the redirect"
	case isTLS(err):
		f.Code, f.Permanent = "tls", true
		f.WithMessage("the certificate of the provider %s is not trusted: %v", name, short(err))
	case isCut(err):
		f.Code = CodeTruncated
		f.WithMessage("the response of the provider %s is incomplete", name)
	}
	return f.WithCause(err)
}

// Truncated returns the failure of a stream that ended without its end mark. Such a stream is never
// a success.
func Truncated(name string) *walk.Failure {
	return (&walk.Failure{Code: CodeTruncated, NoEffect: true}).WithMessage("the response of the provider %s is incomplete", name)
}

// Stopped returns the failure of an answer that ended for a reason other than completion, or nil.
func Stopped(name, reason string) error {
	switch reason {
	case "length", "max_tokens", "model_context_window_exceeded":
		return (&walk.Failure{
			Code:       CodeMaxTokens,
			Permanent:  true,
			NoEffect:   true,
			Suggestion: "raise max_tokens of the agent, or request less",
		}).WithMessage("the response of the provider %s reached its token limit", name)
	case "content_filter", "refusal":
		return (&walk.Failure{
			Code:      CodeRefused,
			Permanent: true,
			NoEffect:  true,
		}).WithMessage("the provider %s refused to answer", name)
	}
	return nil
}

func (e *StatusError) failure(name string) *walk.Failure {
	f := (&walk.Failure{
		Code:      CodeRejected,
		Permanent: true,
		NoEffect:  true,
		Request:   e.Request,
	}).WithMessage("the provider %s returned %d: %s", name, e.Status, first(e.Body))
	switch {
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		f.Code, f.Suggestion = CodeAuth, "check the key in api_key_env of the provider, and its permissions"
	case e.Status == http.StatusTooManyRequests:
		f.Code, f.Permanent, f.RetryAfter = CodeRateLimited, false, e.RetryAfter
	case e.Status == http.StatusRequestTimeout || e.Status == http.StatusConflict || e.Status >= 500:
		f.Code, f.Permanent, f.RetryAfter = CodeUnavailable, false, e.RetryAfter
	case tooLong(e.Body):
		f.Code, f.Suggestion = CodeTooLong, "shorten the input, or choose a model with a longer context"
	case e.Status == http.StatusNotFound:
		f.Suggestion = "check base_url and model of the provider"
	}
	return f
}

func tooLong(body string) bool {
	b := strings.ToLower(body)
	for _, mark := range []string{"context_length", "context length", "maximum context", "too many tokens", "prompt is too long",
		"exceed_context_size"} {
		if strings.Contains(b, mark) {
			return true
		}
	}
	return false
}

func isCut(err error) bool {
	s := err.Error()
	return strings.Contains(s, "unexpected EOF") || strings.Contains(s, "connection reset") && strings.Contains(s, "read")
}

func isTLS(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" {
		return true
	}
	return strings.Contains(err.Error(), "tls: ") || strings.Contains(err.Error(), "x509: ")
}

// short returns an error's text without the address that SDKs put before it.
func short(err error) string {
	s := err.Error()
	if i := strings.LastIndex(s, `": `); i >= 0 {
		s = s[i+3:]
	}
	return first(s)
}

// first returns the beginning of a text on one line.
func first(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "�")), " ")
	if r := []rune(s); len(r) > 300 {
		s = string(r[:299]) + "…"
	}
	return s
}

// retryAfter parses the header, in seconds or as a date, and returns at most MaxRetryAfter.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if v == "" {
		return 0
	}
	var d time.Duration
	if n, err := strconv.ParseFloat(v, 64); err == nil {
		if n > MaxRetryAfter.Seconds() {
			return MaxRetryAfter
		}
		d = time.Duration(n * float64(time.Second))
	} else if at, err := http.ParseTime(v); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), MaxRetryAfter)
}
