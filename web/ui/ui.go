// Package ui is what every page needs of a request: who asks and what they may do, their
// language and display, the values of a form, the page around what is shown, and
// errors. A section of the dashboard is a package beside it that returns a [Section].
package ui

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
)

// Section is a part of the dashboard with pages of its own.
type Section struct {
	Routes    []Route
	Fragments []Fragment
	Done      []Done
}

// Fragment is a part of a page that is fetched again automatically when one of its topics has changed. The
// request goes to the page's own address, with the fragment's id in HX-Target. In the history, and without
// scripts, there is only the page.
type Fragment struct {
	Page      string // pattern of the page's address
	ID        string // of the element
	Operation app.Operation
	// Topics are those of package events; a part like :run is that of the address.
	Topics []string
	// Build makes no more than the part; nil: there is nothing to show any more.
	Build func(*Context) (templ.Component, error)
}

// Handle answers with the fragment.
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

// Route is one address and the operation that it serves; the policy decides who may use it. Get or Post is
// the pattern of the address.
type Route struct {
	Get, Post string
	Operation app.Operation
	Handle    func(*Context) error
}

// Reader is what every page reads of the store.
type Reader interface {
	// RunCounts are the numbers of runs by status, and of open approvals.
	RunCounts(ctx context.Context) (domain.RunCounts, error)
}

// Site is what all requests share.
type Site struct {
	App    *app.App
	Reader Reader
	// Notices are what every page shows now; nil: there are none.
	Notices func(context.Context) []domain.Notice
	// APIPath is where the API reads what an operation gives, with {name} for each
	// parameter; "" for none. Nil: pages have no links to the API.
	APIPath func(app.Operation) string
	// Secure reports whether the browser came over TLS.
	Secure        func(*http.Request) bool
	Done          []Done // what pages say after an act
	Zone          *time.Location
	Version, Node string
	// Idle is after how long without a request a login ends; 0: never.
	Idle   time.Duration
	Now    func() time.Time
	Logger *slog.Logger
}

// CookieName is the session cookie's: with the __Host- prefix wherever the
// browser demands TLS for it.
func (s *Site) CookieName(r *http.Request) string {
	if s.Secure(r) {
		return "__Host-kairos"
	}
	return "kairos"
}

// Origin is that of this server's pages, as a request came to it.
func (s *Site) Origin(r *http.Request) string {
	if s.Secure(r) {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// Principal sends a request; without a Name it is anonymous.
type Principal struct {
	domain.User
	Secret  string // of the session
	CSRF    string // what forms of this session carry
	Request domain.Request
}

// Actor is who asks, and by which request.
func (p Principal) Actor() domain.Actor {
	return domain.Actor{Name: p.Name, Role: p.Role, Source: "ui", Request: p.Request}
}

// Context is one request on its way through a page. It is used by one goroutine.
type Context struct {
	context.Context
	Site *Site
	Echo echo.Context
	Who  Principal
	// Op is the operation of the route; empty for none.
	Op app.Operation
	// Display is how the reader wants pages.
	Display Display
	Began   time.Time
	// At is the position up to which the page shows events, for its live stream.
	At string
}

// Open begins a request. Its language and display are known, who asks is not.
func (s *Site) Open(ctx context.Context, e echo.Context, op app.Operation) *Context {
	c := &Context{Site: s, Echo: e, Op: op, Began: time.Now()}
	c.Display = readDisplay(e, s.Zone)
	c.Context = locale.With(ctx, c.Display.Lang)
	return c
}

// Within is the same request with a context that was made of it.
func (c *Context) Within(ctx context.Context) *Context {
	return &Context{Context: ctx, Site: c.Site, Echo: c.Echo, Who: c.Who, Op: c.Op, Display: c.Display, Began: c.Began, At: c.At}
}

// Param is a part of the address.
func (c *Context) Param(name string) string { return c.Echo.Param(name) }

// Query is a parameter of the address.
func (c *Context) Query(name string) string { return c.Echo.QueryParam(name) }

// Field is a value of the form, or of the address.
func (c *Context) Field(name string) string { return c.Echo.FormValue(name) }
