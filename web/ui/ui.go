// Package ui is the base of all pages: the user of a request and their permissions, language, and
// display settings, form values, the frame of pages, and errors. Each section of the dashboard is a
// package next to it that returns a [Section].
package ui

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
)

// Section is a part of the dashboard with its own pages.
type Section struct {
	Routes    []Route
	Fragments []Fragment
	Done      []Done
}

// Fragment is a part of a page that the browser reloads when one of its topics changes. The request
// uses the address of the page, with the id of the fragment in HX-Target, so that the browser
// history and browsers without scripts only see the page.
type Fragment struct {
	Page      string // pattern of the page's address
	ID        string // id of the element
	Operation app.Operation
	// Topics are topics of package events. Parameters such as :run take their value from the
	// address.
	Topics []string
	// Build renders only the fragment. A nil component means that nothing is left to show.
	Build func(*Context) (templ.Component, error)
}

// Handle responds with the fragment, or with 204 No Content if there is nothing to show.
func (f Fragment) Handle(c *Context) error {
	part, err := f.Build(c)
	if err != nil {
		return err
	}
	if part == nil {
		return c.Echo.NoContent(http.StatusNoContent)
	}
	return c.Render(http.StatusOK, part)
}

// Route maps the address pattern Get or Post to an operation. The policy of the operation decides
// who may use the route.
type Route struct {
	Get, Post string
	Operation app.Operation
	Handle    func(*Context) error
}

// Reader reads the data that every page needs from the store.
type Reader interface {
	// RunCounts returns the number of runs by status, and the number of pending approval requests.
	RunCounts(ctx context.Context) (domain.RunCounts, error)
}

// Site holds what all requests share.
type Site struct {
	App    *app.App
	Reader Reader
	// Notices returns the notices that every page shows. It may be nil.
	Notices func(context.Context) []domain.Notice
	// APIPath returns the API path of a read operation, with {name} for each parameter, or "" if
	// the API lacks it. If APIPath is nil, pages have no links to the API.
	APIPath func(app.Operation) string
	// Secure reports whether the browser's connection uses TLS.
	Secure        func(*http.Request) bool
	Done          []Done // confirmations of actions
	Zone          *time.Location
	Version, Node string
	// Idle is the session idle timeout. 0 disables it.
	Idle   time.Duration
	Now    func() time.Time
	Logger *slog.Logger
}

// CookieName returns the name of the session cookie. With TLS, it has the __Host- prefix, which
// browsers accept only from secure origins.
func (s *Site) CookieName(r *http.Request) string {
	if s.Secure(r) {
		return "__Host-kairos"
	}
	return "kairos"
}

// Origin returns the origin of the pages of this server, based on the request.
func (s *Site) Origin(r *http.Request) string {
	if s.Secure(r) {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// Principal is the sender of a request. Without a Name, it is anonymous.
type Principal struct {
	domain.User
	Secret  string // session secret
	CSRF    string // CSRF token of the session
	Request domain.Request
}

// Actor returns the principal as the actor of an operation.
func (p Principal) Actor() domain.Actor {
	return domain.Actor{Name: p.Name, Role: p.Role, Source: "ui", Request: p.Request}
}

// Context is the state of one request. It must not be used concurrently.
type Context struct {
	context.Context
	Site      *Site
	Echo      echo.Context
	Principal Principal
	// Op is the operation of the route. It may be empty.
	Op      app.Operation
	Display Display
	Start   time.Time
	// At is the position of the last event that the page shows. The live stream resumes there.
	At string
}

// Open returns the context of a request, with its language and display settings. The caller sets
// Who.
func (s *Site) Open(ctx context.Context, e echo.Context, op app.Operation) *Context {
	c := &Context{Site: s, Echo: e, Op: op, Start: time.Now()}
	c.Display = readDisplay(e, s.Zone)
	c.Context = locale.With(ctx, c.Display.Lang)
	return c
}

// WithContext returns a copy of c with a context derived from it.
func (c *Context) WithContext(ctx context.Context) *Context {
	return &Context{Context: ctx, Site: c.Site, Echo: c.Echo, Principal: c.Principal, Op: c.Op, Display: c.Display,
		Start: c.Start, At: c.At}
}

// Param returns a path parameter.
func (c *Context) Param(name string) string {
	text := c.Echo.Param(name)
	if c.Echo.Request().URL.RawPath == "" {
		return text
	}
	if plain, err := url.PathUnescape(text); err == nil { // echo keeps the escaping
		return plain
	}
	return text
}

// Query returns a query parameter.
func (c *Context) Query(name string) string { return c.Echo.QueryParam(name) }

// Field returns a form value, or a query parameter of that name.
func (c *Context) Field(name string) string { return c.Echo.FormValue(name) }
