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

// HTMX reports whether a script asks for a part of a page.
func (c *Context) HTMX() bool { return c.Echo.Request().Header.Get("HX-Request") == "true" }

// Target is the element of the page that the answer is for; empty: a whole page.
func (c *Context) Target() string {
	if !c.HTMX() {
		return ""
	}
	return c.Echo.Request().Header.Get("HX-Target")
}

// Render writes a component whole or not at all.
func (c *Context) Render(code int, page templ.Component) error {
	var b bytes.Buffer
	read := time.Since(c.Began) // templates ask for nothing: the database comes before them
	if err := page.Render(c, &b); err != nil {
		return err
	}
	h := c.Echo.Response().Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", c.Display.Lang.Tag)
	took := time.Since(c.Began)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	h.Set("Server-Timing", fmt.Sprintf("total;dur=%.1f, db;dur=%.1f, render;dur=%.1f", ms(took), ms(read), ms(took-read)))
	if code == http.StatusOK && c.Target() != "" && c.Echo.Request().Method == http.MethodGet && unchanged(c, b.Bytes()) {
		return c.Echo.NoContent(http.StatusNoContent)
	}
	return write(c.Echo.Response(), c.Echo.Request(), code, b.Bytes())
}

// unchanged reports whether the browser already has a part of a page, by If-None-Match. Then it is not sent
// again, and the page stays untouched.
func unchanged(c *Context, part []byte) bool {
	sum := fnv.New64a()
	sum.Write(part)
	tag := strconv.FormatUint(sum.Sum64(), 36)
	c.Echo.Response().Header().Set("ETag", `"`+tag+`"`)
	return c.Echo.Request().Header.Get("If-None-Match") == `"`+tag+`"`
}

// To answers a POST: the result is a page of its own, which confirms the action.
func (c *Context) To(address string) error {
	showDone(c)
	if c.HTMX() {
		c.Echo.Response().Header().Set("HX-Redirect", address)
		return c.Echo.NoContent(http.StatusNoContent)
	}
	return c.Echo.Redirect(http.StatusSeeOther, address)
}

// Page reads the cursor parameters of a list.
func (c *Context) Page() domain.Page {
	p := domain.Page{After: c.Echo.QueryParam("after"), Before: c.Echo.QueryParam("before")}
	if n, err := strconv.Atoi(c.Echo.QueryParam("n")); err == nil && n > 0 {
		p.Limit = min(n, 200)
	}
	return p
}

// May reports whether who asks may use an operation.
func (c *Context) May(op app.Operation) bool { return app.May(c.Who.Actor(), op) }

// Meta is who sends a form, and the key by which it is carried out once.
func (c *Context) Meta() app.Meta {
	return app.Meta{By: c.Who.Actor(), Key: c.Echo.FormValue("idem")}
}

// FilterProblem describes what is wrong with a filter, and a suggestion.
func (c *Context) FilterProblem(problem *domain.Error) (says, suggests string) {
	return kit.Begun(c.Message(problem.Localize())), kit.Begun(c.Message(problem.Advice()))
}

// Refused shows a form again with what is wrong with it; other errors pass.
func (c *Context) Refused(err error) (problem string, ok bool) {
	switch domain.CodeOf(err) {
	case domain.CodeInvalid, domain.CodeConflict, domain.CodeForbidden, domain.CodeUnauthorized, domain.CodeTooMany:
		return cmp.Or(c.TooMany(err), c.Sentence(err)), true
	}
	return "", false
}

// Size is how long a value is, in the reader's language.
func (c *Context) Size(n int) string { return SizeIn(c.Display.Lang, n) }

// SizeIn is a number of bytes, in a language.
func SizeIn(l *locale.Language, n int) string {
	switch {
	case n < 1<<10:
		return strconv.Itoa(n) + " B"
	case n < 1<<20:
		return l.Decimal(float64(n)/(1<<10), 1) + " KB"
	}
	return l.Decimal(float64(n)/(1<<20), 1) + " MB"
}

// See redirects to the page at a pattern. Parts like :run are those of the request's
// address.
func See(page string) func(*Context) error {
	return func(c *Context) error {
		at := page
		for _, name := range c.Echo.ParamNames() {
			at = strings.Replace(at, ":"+name, url.PathEscape(c.Param(name)), 1)
		}
		return c.Echo.Redirect(http.StatusSeeOther, at)
	}
}
