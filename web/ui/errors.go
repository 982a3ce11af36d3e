package ui

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
)

// StatusOf maps error codes to HTTP status codes.
var StatusOf = map[domain.Code]int{
	domain.CodeInvalid: http.StatusUnprocessableEntity, domain.CodeNotFound: http.StatusNotFound, domain.CodeConflict: http.StatusConflict,
	domain.CodeNotResumable: http.StatusConflict, domain.CodeStale: http.StatusConflict, domain.CodeForbidden: http.StatusForbidden,
	domain.CodeUnauthorized: http.StatusUnauthorized, domain.CodeTooLarge: http.StatusRequestEntityTooLarge,
	domain.CodeTooMany:     http.StatusTooManyRequests,
	domain.CodeUnavailable: http.StatusServiceUnavailable, domain.CodeLocked: http.StatusServiceUnavailable,
	domain.CodeNoSpace: http.StatusInsufficientStorage,
}

var headlines = map[int]string{
	http.StatusMethodNotAllowed: locale.Mark("Method not allowed"),
	http.StatusNotFound: locale.Mark(
		"Not found",
	), http.StatusForbidden: locale.Mark("Not allowed"), http.StatusConflict: locale.Mark("Changed since you looked"),
	http.StatusUnprocessableEntity: locale.Mark(
		"That cannot be used",
	), http.StatusTooManyRequests: locale.Mark("Too many attempts"), http.StatusServiceUnavailable: locale.Mark("Not available now"),
	http.StatusInsufficientStorage: locale.Mark("The disk is full"), http.StatusRequestEntityTooLarge: locale.Mark("Too large"),
}

// explained describes a status in the reader's language. Pages show it above an error message that
// has no translation.
var explained = map[int]string{
	http.StatusMethodNotAllowed: locale.Mark("This address does not accept this kind of request."),
	http.StatusNotFound: locale.Mark(
		"There is no page at this address. It may have been removed.",
	), http.StatusForbidden: locale.Mark("You are not allowed to do this."),
	http.StatusConflict: locale.Mark(
		"It has changed since you opened it. Review it again.",
	), http.StatusUnprocessableEntity: locale.Mark("Some of the values are invalid."),
	http.StatusTooManyRequests: locale.Mark(
		"Wait a few seconds, then try again.",
	), http.StatusServiceUnavailable: locale.Mark("kairosd cannot do this now. Try again in a few seconds."),
	http.StatusInsufficientStorage: locale.Mark(
		"Nothing can be stored until there is room on the disk.",
	), http.StatusRequestEntityTooLarge: locale.Mark("The request is too large."),
}

// LocalizedError is an error with its message in the reader's language. Logs and the audit log
// contain the original error.
type LocalizedError struct {
	Err                 *domain.Error
	Message, Suggestion string
}

// Error returns the message of the original error.
func (e *LocalizedError) Error() string { return e.Err.Error() }

// Unwrap returns the original error.
func (e *LocalizedError) Unwrap() error { return e.Err }

// Fail renders an error. An error that is not meant for users is logged, and the page shows only
// the request ID.
func (c *Context) Fail(err error) {
	p := kit.ErrorPage{
		Shell:    c.Shell("", "Error"),
		Code:     http.StatusInternalServerError,
		Headline: locale.Mark("Something went wrong here"),
		Message:  c.T("No stored data is lost."),
	}
	var httpError *echo.HTTPError
	var tooLarge *http.MaxBytesError
	e, ours := errors.AsType[*domain.Error](err)
	localized, translated := errors.AsType[*LocalizedError](err)
	switch {
	case errors.As(err, &tooLarge):
		p.Code, p.Message = http.StatusRequestEntityTooLarge, c.T(explained[http.StatusRequestEntityTooLarge])
	case errors.As(err, &httpError):
		p.Code = httpError.Code
		p.Message = http.StatusText(httpError.Code)
		if says := explained[p.Code]; says != "" {
			p.Message = c.T(says)
		}
	case translated:
		p.Code, p.Message, p.Suggestion = StatusOf[localized.Err.Code], localized.Message, localized.Suggestion
	case ours && StatusOf[e.Code] != 0:
		text := c.Message(e.Localize())
		p.Code, p.Message, p.Suggestion = StatusOf[e.Code], kit.Capitalize(text), kit.Capitalize(c.Message(e.Advice()))
		if p.RetryAfter = c.Wait(err); p.RetryAfter != "" && e.Code == domain.CodeTooMany {
			p.Suggestion = "" // the suggestion of a 429 error does not contain the time to wait
		}
		if c.Display.Lang != locale.English && text == kit.Escape(e.Message) && explained[p.Code] != "" {
			p.Explanation = c.T(explained[p.Code])
		}
	case errors.Is(err, context.DeadlineExceeded):
		p.Code, p.Message = http.StatusServiceUnavailable, c.T("The response took too long.")
	default:
		p.ID = domain.RequestOf(c).ID
		c.Site.Logger.Error("page failed", "id", p.ID, "path", c.Echo.Request().URL.Path, "err", err)
		// The path without its query, which may contain text that a user typed.
		p.Details = strings.Join(
			[]string{
				"error " + p.ID,
				"kairosd " + c.Site.Version,
				c.Echo.Request().Method + " " + kit.Escape(c.Echo.Request().URL.Path),
				c.Site.Now().UTC().Format(time.RFC3339),
			},
			"\n",
		)
	}
	if h := headlines[p.Code]; h != "" {
		p.Headline = h
	}
	if p.Headline = c.T(p.Headline); p.Message == p.Headline {
		p.Message = ""
	}
	p.Title = p.Headline
	p.Lists = c.Lists()
	if again := c.Echo.Request(); again.Method == http.MethodGet && (p.Code >= http.StatusInternalServerError || p.RetryAfter != "") {
		p.RetryHref = again.URL.RequestURI()
	}
	component := kit.Error(p)
	if c.HTMX() {
		p.Part = c.Target() != "dialog"
		component = kit.ErrorPanel(p)
	}
	if err := c.Render(p.Code, component); err != nil {
		c.Site.Logger.Error("error page failed", "err", err)
	}
}
