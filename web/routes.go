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

// publicPaths are the addresses outside the route table. They are public, and reveal no stored data.
var publicPaths = []string{"/static/:hash/:file", "/healthz", "/readyz"}

// route maps an address to an operation. The policy of the operation decides who may use it.
type route struct {
	method, path string
	op           app.Operation
	handle       func(*request) error
}

// role returns the minimum role for a route, or "" for a public one.
func (r route) role() domain.Role {
	rule, _ := app.Policy(r.op) // permitted rejects operations without a policy
	return rule.Role
}

// routeTable returns every address of the dashboard. A GET changes nothing, except the one that
// completes a login at the identity provider. Every POST address also accepts GET, and shows a
// preview of the action or the page with its form.
func (s *Server) routeTable() []route {
	const get, post = http.MethodGet, http.MethodPost
	rows := []route{
		{post, "/display", app.ChooseDisplay, (*request).setDisplay},
	}
	for _, section := range s.sections {
		for _, r := range section.Routes {
			method, handle := get, r.Handle
			if r.Post != "" {
				method = post
			} else if parts := fragmentsByID(section, r.Get); len(parts) > 0 {
				handle = withFragments(r.Handle, parts)
			}
			rows = append(rows, route{method, cmp.Or(r.Get, r.Post), r.Operation, func(in *request) error { return handle(in.Context) }})
		}
	}
	return withPages(rows)
}

// fragmentsByID returns the fragments of a page by ID.
func fragmentsByID(s ui.Section, page string) map[string]ui.Fragment {
	out := map[string]ui.Fragment{}
	for _, f := range s.Fragments {
		if f.Page == page {
			out[f.ID] = f
		}
	}
	return out
}

// withFragments responds to a request for a fragment with only that fragment.
func withFragments(page func(*ui.Context) error, parts map[string]ui.Fragment) func(*ui.Context) error {
	return func(c *ui.Context) error {
		if f, ok := parts[c.Target()]; ok {
			return f.Handle(c)
		}
		return page(c)
	}
}

// withPages adds a GET for each address that accepts only POST, so that every address is safe to
// open. It redirects to the nearest parent address that has a page.
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
		rows = append(rows, route{http.MethodGet, r.path, r.op, redirectTo(page)})
	}
	return rows
}

// redirectTo redirects to the page with a pattern.
func redirectTo(page string) func(*request) error {
	to := ui.RedirectTo(page)
	return func(r *request) error { return to(r.Context) }
}

// Route is an address of the dashboard. An empty role makes it public.
type Route struct {
	Operation    app.Operation // empty for public routes without an operation
	Method, Path string
	Role         domain.Role
}

// Routes lists every address, for tests.
func (s *Server) Routes() []Route {
	var out []Route
	for _, r := range s.routeTable() {
		out = append(out, Route{r.op, r.method, r.path, r.role()})
	}
	for _, path := range publicPaths {
		out = append(out, Route{Method: http.MethodGet, Path: path})
	}
	return out
}

// checkPolicy rejects routes whose operation has no policy, and routes outside the table, so that
// access is denied by default.
func (s *Server) checkPolicy() error {
	known := map[string]bool{}
	for _, path := range publicPaths {
		known[http.MethodGet+" "+path] = true
	}
	for _, section := range s.sections {
		for _, f := range section.Fragments {
			if !slices.ContainsFunc(section.Routes, func(r ui.Route) bool { return r.Get == f.Page && r.Operation == f.Operation }) {
				return fmt.Errorf("web: fragment %s is of no page %s with the operation %q", f.ID, f.Page, f.Operation)
			}
		}
	}
	for _, r := range s.routeTable() {
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

// Fragments lists every fragment, for tests.
func (s *Server) Fragments() []ui.Fragment {
	var out []ui.Fragment
	for _, section := range s.sections {
		out = append(out, section.Fragments...)
	}
	return out
}

func (s *Server) routes() {
	for _, r := range s.routeTable() {
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
			if n := len(s.System.Notices(c.Request().Context())); n > 0 { // only the count; the texts require a login
				text += plural(n, "notice", "notices") + " on the dashboard\n"
			}
		}
		return c.String(http.StatusOK, text)
	})
}
