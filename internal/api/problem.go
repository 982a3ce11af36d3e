package api

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// Problem is the body of every error: RFC 9457 with the extension members code, reason, message,
// suggestion, and errors.
type Problem struct {
	Type       string      `json:"type" doc:"Always about:blank; code has the details."`
	Title      string      `json:"title" doc:"The status in words."`
	Status     int         `json:"status"`
	Detail     string      `json:"detail" doc:"The same as message."`
	Code       domain.Code `json:"code" doc:"For programs, e.g. not_found."`
	Reason     string      `json:"reason,omitempty" doc:"Refines the code, e.g. cursor.invalid."`
	Message    string      `json:"message" doc:"A message for people."`
	Suggestion string      `json:"suggestion,omitempty" doc:"Action that solves the problem."`
	Errors     []Fault     `json:"errors" doc:"All mistakes, if there are several."`
	// Problems repeats the problems of a plan in the form that storing a plan returns.
	Problems planner.Problems `json:"problems,omitempty"`
	// Recoverable, Violations, and Answer describe a planning request without a plan. Code is then
	// one of the codes of [001].
	Recoverable *bool    `json:"recoverable,omitempty"`
	Violations  []string `json:"violations,omitempty" doc:"Rules that forbid a plan, e.g. PRE-PLAN-002."`
	Answer      string   `json:"answer,omitempty" doc:"The latest response of a model that could not be used."`
	ErrorID     string   `json:"errorId,omitempty" doc:"Names the entry in the daemon's log."`

	retryAfter time.Duration
}

// Fault is one of several mistakes in a request.
type Fault struct {
	Severity   planner.Severity `json:"severity,omitempty"`
	Code       string           `json:"code,omitempty"`
	Message    string           `json:"message"`
	Suggestion string           `json:"suggestion,omitempty"`
	Location   string           `json:"location,omitempty" doc:"In the request, e.g. body.plan or query.limit."`
	Node       string           `json:"node,omitempty"`
	Line       int              `json:"line,omitempty"`
	Column     int              `json:"column,omitempty"`
	File       string           `json:"file,omitempty" doc:"The plan file, if the request has several."`
}

func (p *Problem) Error() string { return p.Message }

// GetStatus, ContentType, and GetHeaders implement the error interfaces of huma.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is that of RFC 9457.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// GetHeaders returns the headers that belong to the status.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retryAfter.Seconds()))))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="kairosd"`)
	}
	return h
}

// statuses maps codes to HTTP statuses.
var statuses = map[domain.Code]int{
	domain.CodeInvalid:      http.StatusUnprocessableEntity,
	domain.CodeNotFound:     http.StatusNotFound,
	domain.CodeConflict:     http.StatusConflict,
	domain.CodeNotResumable: http.StatusConflict,
	domain.CodeStale:        http.StatusConflict,
	domain.CodeAlreadyDone:  http.StatusConflict,
	domain.CodeForbidden:    http.StatusForbidden,
	domain.CodeUnauthorized: http.StatusUnauthorized,
	domain.CodeTooLarge:     http.StatusRequestEntityTooLarge,
	domain.CodeTooMany:      http.StatusTooManyRequests,
	domain.CodeUnavailable:  http.StatusServiceUnavailable,
	domain.CodeLocked:       http.StatusServiceUnavailable,
	domain.CodeNoSpace:      http.StatusInsufficientStorage,
	domain.CodeCorrupt:      http.StatusInternalServerError,
	domain.CodeInternal:     http.StatusInternalServerError,
}

// Codes of refusals that exist only in HTTP.
const (
	codeMethodNotAllowed domain.Code = "method_not_allowed"
	codeUpgradeRequired  domain.Code = "upgrade_required"
)

// codeFor returns the code of a refusal that begins with a status.
func codeFor(status int) domain.Code {
	switch status {
	case http.StatusUnauthorized:
		return domain.CodeUnauthorized
	case http.StatusForbidden:
		return domain.CodeForbidden
	case http.StatusNotFound:
		return domain.CodeNotFound
	case http.StatusConflict:
		return domain.CodeConflict
	case http.StatusMethodNotAllowed:
		return codeMethodNotAllowed
	case http.StatusUpgradeRequired:
		return codeUpgradeRequired
	case http.StatusRequestEntityTooLarge:
		return domain.CodeTooLarge
	case http.StatusTooManyRequests:
		return domain.CodeTooMany
	case http.StatusServiceUnavailable:
		return domain.CodeUnavailable
	}
	if status >= http.StatusInternalServerError {
		return domain.CodeInternal
	}
	return domain.CodeInvalid
}

func problemOf(status int, message string) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: message,
		Code: codeFor(status), Message: message, Errors: []Fault{}}
}

func notFound() *Problem { return problemOf(http.StatusNotFound, "path not found") }

func notAllowed() *Problem {
	return problemOf(http.StatusMethodNotAllowed, "method not allowed for this path")
}

// invalid returns the problem of a malformed request, with status 400.
func invalid(reason, format string, args ...any) *Problem {
	e := domain.Errorf(domain.CodeInvalid, format, args...)
	p := problemOf(http.StatusBadRequest, e.Message)
	p.Reason = reason
	return p
}

// problem converts any error to a problem. It logs an internal error with an id, and the response
// contains only the id.
func (k *kernel) problem(ctx context.Context, err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	e, ok := errors.AsType[*domain.Error](err)
	if !ok {
		if bad, is := errors.AsType[*planner.InvalidError](err); is {
			e, ok = &domain.Error{Code: domain.CodeInvalid, Message: "the plan is not valid", Cause: bad}, true
		}
	}
	if !ok && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		e, ok = domain.Errorf(domain.CodeUnavailable, "the operation took too long").Suggest("try again"), true
	}
	if !ok || e.Code == domain.CodeInternal || e.Code == domain.CodeCorrupt || statuses[e.Code] == 0 {
		return k.internal(ctx, err, e)
	}
	p := problemOf(statuses[e.Code], e.Message)
	p.Code, p.Reason, p.Suggestion, p.retryAfter = e.Code, e.Reason, e.Suggestion, e.RetryAfter
	if bad, ok := errors.AsType[*planner.InvalidError](err); ok {
		p.withProblems(bad.Problems)
	}
	if none, ok := errors.AsType[*domain.PlanError](err); ok {
		p.Recoverable, p.Violations, p.Answer = &none.Recoverable, none.Violations, none.Answer
		if none.Code == strings.ToUpper(none.Code) { // a code of planning requests
			p.Code = domain.Code(none.Code)
		} else {
			p.Reason = none.Code
		}
	}
	return p
}

func (k *kernel) internal(ctx context.Context, err error, e *domain.Error) *Problem {
	if k.showInternal {
		p := problemOf(http.StatusInternalServerError, err.Error())
		if e != nil && e.Code != "" {
			p.Code, p.Reason, p.Suggestion = e.Code, e.Reason, e.Suggestion
		}
		return p
	}
	p := problemOf(http.StatusInternalServerError, "internal error")
	p.Code, p.ErrorID = domain.CodeInternal, domain.NewID()
	p.Suggestion = "search for " + p.ErrorID + " in the daemon's log"
	if e != nil && e.Code == domain.CodeCorrupt {
		p.Code, p.Message, p.Detail = e.Code, "stored data fails its checksum", "stored data fails its checksum"
		p.Suggestion = "run kairosd doctor; " + p.Suggestion
	}
	info := infoOf(ctx)
	attrs := []any{"error_id", p.ErrorID, "err", err, "method", info.request.Method, "actor", info.actor.Name}
	if info.request.URL != nil {
		attrs = append(attrs, "path", info.request.URL.Path)
	}
	k.log.Error("request failed", attrs...)
	return p
}

func (p *Problem) withProblems(list planner.Problems) {
	p.Problems = list
	for _, x := range list {
		p.Errors = append(
			p.Errors,
			Fault{Severity: x.Severity, Code: x.Code, Message: x.Message.String(), Suggestion: x.Suggestion.String(),
				Node: x.Node, Line: x.Line, Column: x.Column, File: x.File},
		)
	}
}

// unread reports whether the body of a request was not read. The server would wait for the body
// before the next request, so the connection is closed.
func unread(r *http.Request) bool { return r.ContentLength != 0 && bodyOf(r) == nil }

// refuse writes a problem before routing.
func (a *API) refuse(w http.ResponseWriter, r *http.Request, p *Problem) {
	h := w.Header()
	if unread(r) {
		h.Set("Connection", "close")
	}
	for k, v := range p.GetHeaders() {
		h[k] = v
	}
	h.Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	if err := json.NewEncoder(w).Encode(p); err != nil {
		a.Log.Debug("write an error", "err", err)
	}
}

// answer writes a problem before the handler of a route.
func (a *API) answer(ctx huma.Context, p *Problem) {
	for k, v := range p.GetHeaders() {
		ctx.SetHeader(k, v[0])
	}
	if r := humaecho.Unwrap(ctx).Request(); unread(r) {
		ctx.SetHeader("Connection", "close")
	}
	ctx.SetHeader("Content-Type", p.ContentType(""))
	ctx.SetStatus(p.Status)
	if err := json.NewEncoder(ctx.BodyWriter()).Encode(p); err != nil {
		a.Log.Debug("write an error", "err", err)
	}
}

// huma creates its own errors, such as for a body that does not match its schema, with this
// variable. Only the routes of this package use it.
func init() {
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		p := problemOf(status, message)
		outside := len(errs) > 0 // all mistakes are in the path, the query, or a header
		for _, err := range errs {
			if err == nil {
				continue
			}
			f := Fault{Message: err.Error()}
			if d, ok := err.(huma.ErrorDetailer); ok {
				detail := d.ErrorDetail()
				f.Message, f.Location = detail.Message, detail.Location
			}
			if strings.HasPrefix(f.Location, "body") || f.Location == "" {
				outside = false
			}
			p.Errors = append(p.Errors, f)
		}
		if outside && status == http.StatusUnprocessableEntity {
			p.Status, p.Title = http.StatusBadRequest, http.StatusText(http.StatusBadRequest)
		}
		if len(p.Errors) > 0 {
			first := p.Errors[0]
			p.Message = strings.TrimPrefix(first.Location+": "+first.Message, ": ")
			if strings.HasPrefix(first.Message, "unexpected property") {
				p.Reason = "field.unknown"
			}
			p.Detail = p.Message
		}
		return p
	}
}
