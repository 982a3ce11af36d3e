package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
)

// twin is a page whose data the API has too: the page's address with .json at its
// end answers what the API does, so that who looks at a page can hand its
// address to a program.
type twin struct {
	page, api string // {} is one part of a path, and the same in both; the API's may have a query
	role      domain.Role
	query     map[string]string // parameters of the page, and the API's names for them
}

var twins = []twin{
	{"/runs", "/runs", domain.RoleViewer, map[string]string{"q": "filter", "n": "limit"}},
	{"/runs/compare", "/runs/compare", domain.RoleViewer, map[string]string{"a": "a", "b": "b"}},
	{"/runs/{}", "/runs/{}", domain.RoleViewer, nil},
	{"/runs/{}/steps/{}", "/runs/{}/steps/{}", domain.RoleViewer, nil},
	{"/runs/{}/lineage", "/runs?related={}", domain.RoleViewer, nil},
	{"/bulk", "/bulk", domain.RoleViewer, nil},
	{"/bulk/{}", "/bulk/{}", domain.RoleViewer, nil},
	{"/plans", "/plans", domain.RoleViewer, map[string]string{"q": "q"}},
	{"/plans/{}", "/plans/{}", domain.RoleViewer, nil},
	{"/plans/drafts/{}", "/plans/drafts/{}", domain.RoleViewer, nil},
	{"/plans/{}/v/{}", "/plans/{}/versions/{}", domain.RoleViewer, nil},
	{"/plans/{}/diff/{}/{}", "/plans/{}/diff/{}/{}", domain.RoleViewer, nil},
	{"/plans/{}/versions", "/plans/{}/versions", domain.RoleViewer, nil},
	{"/approvals", "/approvals", domain.RoleViewer, map[string]string{"status": "status", "plan": "plan", "agent": "agent"}},
	{"/approvals/{}", "/approvals/{}", domain.RoleViewer, nil},
	{"/agents", "/agents", domain.RoleViewer, nil},
	{"/agents/tools", "/tools", domain.RoleViewer, nil},
	{"/agents/providers", "/providers", domain.RoleViewer, nil},
	{"/agents/agents/{}", "/agents/{}", domain.RoleViewer, nil},
	{"/agents/tools/{}", "/tools/{}", domain.RoleViewer, nil},
	{"/agents/providers/{}", "/providers/{}", domain.RoleViewer, nil},
	{"/agents/servers", "/mcp", domain.RoleViewer, nil},
	{"/steps", "/steps", domain.RoleViewer, map[string]string{"q": "q", "sort": "sort"}},
	{"/handoffs", "/handoffs", domain.RoleViewer, map[string]string{"q": "q"}},
	{"/handoffs/{}", "/handoffs/{}", domain.RoleViewer, nil},
	{"/memory", "/memory", domain.RoleViewer, nil},
	{"/system", "/system", domain.RoleViewer, nil},
	{"/system/storage", "/system", domain.RoleViewer, nil},
	{"/system/jobs", "/system", domain.RoleViewer, nil},
	{"/system/config", "/settings", domain.RoleAdmin, nil},
	{"/system/log", "/system/log", domain.RoleOperator, nil},
	{"/audit", "/audit", domain.RoleViewer, map[string]string{"q": "q"}},
	{"/audit/{}", "/audit/{}", domain.RoleViewer, nil},
	{"/settings", "/settings", domain.RoleAdmin, nil},
	{"/settings/access", "/settings", domain.RoleAdmin, nil},
	{"/settings/notifications", "/settings", domain.RoleAdmin, nil},
	{"/settings/retention", "/settings", domain.RoleAdmin, nil},
	{"/settings/secrets", "/settings", domain.RoleAdmin, nil},
	{"/settings/roles", "/users", domain.RoleAdmin, nil},
	{"/settings/users", "/users", domain.RoleAdmin, nil},
	{"/settings/users/{}", "/users/{}", domain.RoleAdmin, nil},
	{"/settings/tokens", "/tokens", domain.RoleAdmin, nil},
	{"/settings/tokens/{}", "/tokens/{}", domain.RoleAdmin, nil},
	{"/settings/tokens/{}/revoke", "/tokens/{}", domain.RoleAdmin, nil},
	{"/me", "/me", domain.RoleViewer, nil},
}

// match gives the API's path for a page's, both escaped.
func (t twin) match(page string) (string, bool) {
	want, have := strings.Split(t.page, "/"), strings.Split(page, "/")
	if len(want) != len(have) {
		return "", false
	}
	var parts []string
	for i, w := range want {
		switch {
		case w == "{}" && have[i] != "":
			parts = append(parts, have[i])
		case w != have[i]:
			return "", false
		}
	}
	api := t.api
	for _, p := range parts {
		api = strings.Replace(api, "{}", p, 1)
	}
	return api, true
}

// twinOf finds the page's twin. Pages with a name of their own among those of runs
// and plans, like /runs/new, have none.
func twinOf(page string) (twin, string, bool) {
	switch page {
	case "/runs/new", "/runs/changes", "/runs/suggest", "/plans/new", "/bulk/new", "/approvals/bulk", "/audit/verify", "/audit/suggest":
		return twin{}, "", false
	}
	for _, t := range twins {
		if api, ok := t.match(page); ok {
			return t, api, true
		}
	}
	return twin{}, "", false
}

// jsonOfPage is the address of the same data for programs; "" if there is none, or
// not for this role.
func (s *Server) jsonOfPage(u *url.URL, role domain.Role) string {
	t, _, ok := twinOf(u.EscapedPath())
	if !ok || s.API == nil || !role.Includes(t.role) {
		return ""
	}
	q := url.Values{}
	for name := range t.query {
		if v := u.Query().Get(name); v != "" {
			q.Set(name, v)
		}
	}
	if len(q) == 0 {
		return u.EscapedPath() + ".json"
	}
	return u.EscapedPath() + ".json?" + q.Encode()
}

// forAPI turns the request for an address that the API answers in its place into
// one for the API: pages with .json at their end, what scrapers look for, and
// exports of runs. The API asks by itself who may.
func (s *Server) forAPI(r *http.Request) (*http.Request, bool) {
	if s.API == nil {
		return r, false
	}
	path, query := r.URL.EscapedPath(), r.URL.RawQuery
	page, isJSON := strings.CutSuffix(path, ".json")
	run, isExport := strings.CutSuffix(strings.TrimPrefix(path, "/runs/"), "/export")
	switch {
	case path == "/api/v1" || strings.HasPrefix(path, "/api/v1/"):
		return r, true
	case path == "/metrics":
		path = "/metrics"
	case isExport && strings.HasPrefix(path, "/runs/") && !strings.Contains(run, "/"):
		path = "/runs/" + run + "/export"
	case isJSON:
		t, api, ok := twinOf(page)
		if !ok {
			return r, false
		}
		fixed := ""
		path, fixed, _ = strings.Cut(api, "?")
		q, err := url.ParseQuery(fixed)
		if err != nil {
			return r, false
		}
		given := r.URL.Query()
		for name, values := range given {
			if as, ok := t.query[name]; ok {
				name = as
			}
			q[name] = values
		}
		query = q.Encode()
	default:
		return r, false
	}
	r = r.Clone(r.Context())
	plain, err := url.PathUnescape(path)
	if err != nil {
		return r, false
	}
	r.URL.Path, r.URL.RawPath, r.URL.RawQuery = "/api/v1"+plain, "/api/v1"+path, query
	return r, true
}
