package web

import (
	"cmp"
	"fmt"
	"net/http"
	"path"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/static"
	"github.com/kairosd/kairosd/web/ui"
)

// unlisted are the addresses besides the table: they are for everybody, and say
// nothing of what is stored.
var unlisted = []string{"/static/:hash/:file", "/healthz", "/readyz"}

// route is one address and its operation; the policy decides who may use it.
type route struct {
	method, path string
	op           app.Operation
	handle       func(*request) error
}

// role is the least role for a route; empty: everybody, without a login.
func (r route) role() domain.Role {
	rule, _ := app.Policy(r.op) // permitted refuses routes without one
	return rule.Role
}

// table is every address of the dashboard. A GET never changes
// anything, but for the one that ends a login at the identity provider; every
// POST also answers GET, with a preview of the act or the page of its form.
func (s *Server) table() []route {
	const get, post = http.MethodGet, http.MethodPost
	rows := []route{
		{post, "/display", app.ChooseDisplay, (*request).setDisplay},
	}
	for _, section := range s.sections {
		for _, r := range section.Routes {
			method, handle := get, r.Handle
			if r.Post != "" {
				method = post
			} else if parts := fragmentsOf(section, r.Get); len(parts) > 0 {
				handle = withFragments(r.Handle, parts)
			}
			rows = append(rows, route{method, cmp.Or(r.Get, r.Post), r.Operation, func(in *request) error { return handle(in.Context) }})
		}
	}
	return withPages(rows)
}

// fragmentsOf are the fragments of a page, by their ids.
func fragmentsOf(s ui.Section, page string) map[string]ui.Fragment {
	out := map[string]ui.Fragment{}
	for _, f := range s.Fragments {
		if f.Page == page {
			out[f.ID] = f
		}
	}
	return out
}

// withFragments answers a request for a fragment of a page with no more than that.
func withFragments(page func(*ui.Context) error, parts map[string]ui.Fragment) func(*ui.Context) error {
	return func(c *ui.Context) error {
		if f, ok := parts[c.Target()]; ok {
			return f.Handle(c)
		}
		return page(c)
	}
}

// withPages adds a GET for each address that only answers POST, because an address is
// always safe to open: it leads to the nearest address above that has a page.
func withPages(rows []route) []route {
	pages := map[string]bool{}
	for _, r := range rows {
		pages[r.path] = pages[r.path] || r.method == http.MethodGet
	}
	for _, r := range slices.Clone(rows) {
		if pages[r.path] {
			continue
		}
		page := path.Dir(r.path)
		for page != "/" && !pages[page] {
			page = path.Dir(page)
		}
		rows = append(rows, route{http.MethodGet, r.path, r.op, see(page)})
	}
	return rows
}

// see redirects to the page at a pattern.
func see(page string) func(*request) error {
	to := ui.See(page)
	return func(r *request) error { return to(r.Context) }
}

// Route is an address of the dashboard and the role that it needs; an empty role
// is for everybody.
type Route struct {
	Operation    app.Operation // empty: of none, and for everybody
	Method, Path string
	Role         domain.Role
}

// Routes lists every address, for tests that ask all of them.
func (s *Server) Routes() []Route {
	var out []Route
	for _, r := range s.table() {
		out = append(out, Route{r.op, r.method, r.path, r.role()})
	}
	for _, path := range unlisted {
		out = append(out, Route{Method: http.MethodGet, Path: path})
	}
	return out
}

// permitted refuses to serve a route that does not say who may use it, or that
// is not in the table (deny by default).
func (s *Server) permitted() error {
	known := map[string]bool{}
	for _, path := range unlisted {
		known[http.MethodGet+" "+path] = true
	}
	for _, section := range s.sections {
		for _, f := range section.Fragments {
			if !slices.ContainsFunc(section.Routes, func(r ui.Route) bool { return r.Get == f.Page && r.Operation == f.Operation }) {
				return fmt.Errorf("web: fragment %s is of no page %s with the operation %q", f.ID, f.Page, f.Operation)
			}
		}
	}
	for _, r := range s.table() {
		if _, ok := app.Policy(r.op); !ok {
			return fmt.Errorf("web: %s %s: the policy has no operation %q", r.method, r.path, r.op)
		}
		known[r.method+" "+r.path] = true
	}
	for _, r := range s.echo.Routes() {
		if !known[r.Method+" "+r.Path] {
			return fmt.Errorf("web: %s %s is served without a permission", r.Method, r.Path)
		}
	}
	return nil
}

// Fragments lists every fragment, for tests that ask all of them.
func (s *Server) Fragments() []ui.Fragment {
	var out []ui.Fragment
	for _, section := range s.sections {
		out = append(out, section.Fragments...)
	}
	return out
}

func (s *Server) routes() {
	for _, r := range s.table() {
		s.echo.Add(r.method, r.path, func(c echo.Context) error { return s.serve(c, r) })
	}
	s.echo.GET("/static/:hash/:file", func(c echo.Context) error {
		static.Serve(c.Response(), c.Request(), c.Param("hash"), c.Param("file"))
		return nil
	})
	s.echo.GET("/healthz", func(c echo.Context) error { return c.String(http.StatusOK, "ok\n") })
	s.echo.GET("/readyz", func(c echo.Context) error {
		if s.Ready != nil {
			if err := s.Ready(c.Request().Context()); err != nil {
				return c.String(http.StatusServiceUnavailable, err.Error()+"\n")
			}
		}
		text := "ready\n"
		if s.System != nil {
			if n := len(s.System.Notices(c.Request().Context())); n > 0 { // what they say is for those who are logged in
				text += plural(n, "notice", "notices") + " on the dashboard\n"
			}
		}
		return c.String(http.StatusOK, text)
	})
}
