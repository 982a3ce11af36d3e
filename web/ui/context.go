package ui

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
)

// HTMX reports whether htmx sent the request.
func (c *Context) HTMX() bool { return c.Echo.Request().Header.Get("HX-Request") == "true" }

// Target returns the id of the element that the response will replace. It is empty if the whole
// page is requested.
func (c *Context) Target() string {
	if !c.HTMX() {
		return ""
	}
	return c.Echo.Request().Header.Get("HX-Target")
}

// Render writes a component. It buffers the output, so that a failed component writes nothing.
func (c *Context) Render(code int, page templ.Component) error {
	var b bytes.Buffer
	read := time.Since(c.Start) // the end of the database reads: templates do not read
	if err := page.Render(c, &b); err != nil {
		return err
	}
	h := c.Echo.Response().Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", c.Display.Lang.Tag)
	took := time.Since(c.Start)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	h.Set("Server-Timing", fmt.Sprintf("total;dur=%.1f, db;dur=%.1f, render;dur=%.1f", ms(took), ms(read), ms(took-read)))
	if code == http.StatusOK && c.Target() != "" && c.Echo.Request().Method == http.MethodGet && unchanged(c, b.Bytes()) {
		return c.Echo.NoContent(http.StatusNoContent)
	}
	return write(c.Echo.Response(), c.Echo.Request(), code, b.Bytes())
}

// unchanged reports whether the browser already has this fragment, according to If-None-Match. It
// sets the ETag of the response.
func unchanged(c *Context, part []byte) bool {
	sum := fnv.New64a()
	sum.Write(part)
	tag := strconv.FormatUint(sum.Sum64(), 36)
	c.Echo.Response().Header().Set("ETag", `"`+tag+`"`)
	return c.Echo.Request().Header.Get("If-None-Match") == `"`+tag+`"`
}

// RedirectTo redirects to a page after a POST. That page shows the confirmation of the action.
func (c *Context) RedirectTo(address string) error {
	showDone(c)
	if c.HTMX() {
		c.Echo.Response().Header().Set("HX-Redirect", address)
		return c.Echo.NoContent(http.StatusNoContent)
	}
	return c.Echo.Redirect(http.StatusSeeOther, address)
}

// Page returns the cursor parameters of a list.
func (c *Context) Page() domain.Page {
	p := domain.Page{After: c.Echo.QueryParam("after"), Before: c.Echo.QueryParam("before")}
	if n, err := strconv.Atoi(c.Echo.QueryParam("n")); err == nil && n > 0 {
		p.Limit = min(n, 200)
	}
	return p
}

// May reports whether the user may use an operation.
func (c *Context) May(op app.Operation) bool { return app.May(c.Principal.Actor(), op) }

// Meta returns the sender and the idempotency key of a form.
func (c *Context) Meta() app.Meta {
	return app.Meta{By: c.Principal.Actor(), Key: c.Echo.FormValue("idem")}
}

// FilterProblem returns the message and the suggestion for an invalid filter.
func (c *Context) FilterProblem(problem *domain.Error) (says, suggests string) {
	return kit.Capitalize(c.Message(problem.Localize())), kit.Capitalize(c.Message(problem.Advice()))
}

// Refused returns the message to show above a rejected form. ok is false for all other errors,
// which the caller must return.
func (c *Context) Refused(err error) (problem string, ok bool) {
	switch domain.CodeOf(err) {
	case domain.CodeInvalid, domain.CodeConflict, domain.CodeForbidden, domain.CodeUnauthorized, domain.CodeTooMany:
		return cmp.Or(c.TooMany(err), c.Sentence(err)), true
	}
	return "", false
}

// Size formats a number of bytes in the reader's language.
func (c *Context) Size(n int) string { return SizeIn(c.Display.Lang, n) }

// SizeIn formats a number of bytes in a language.
func SizeIn(l *locale.Language, n int) string {
	switch {
	case n < 1<<10:
		return strconv.Itoa(n) + " B"
	case n < 1<<20:
		return l.Decimal(float64(n)/(1<<10), 1) + " KB"
	}
	return l.Decimal(float64(n)/(1<<20), 1) + " MB"
}

// RedirectTo returns a handler that redirects to the page with the given pattern. It replaces parameters
// such as :run with those of the request.
func RedirectTo(page string) func(*Context) error {
	return func(c *Context) error {
		at := page
		for _, name := range c.Echo.ParamNames() {
			at = strings.Replace(at, ":"+name, url.PathEscape(c.Param(name)), 1)
		}
		return c.Echo.Redirect(http.StatusSeeOther, at)
	}
}
