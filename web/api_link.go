package web

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
)

// apiNames are the parameters of a page's query that the API's operation has too,
// with the API's names for them.
var apiNames = map[app.Operation]map[string]string{
	app.ListRuns:      {"q": "filter", "n": "limit"},
	app.CompareRuns:   {"a": "a", "b": "b"},
	app.ListPlans:     {"q": "q"},
	app.ListApprovals: {"status": "status", "plan": "plan", "agent": "agent"},
	app.SearchSteps:   {"q": "q", "sort": "sort"},
	app.ListHandoffs:  {"q": "q"},
	app.ListAudit:     {"q": "q"},
}

var pathParameter = regexp.MustCompile(`\{[^}]+\}`)

// apiAddress is where the API answers the operation that this page shows, with the
// same objects and the same filter. It is empty if the API has no such address, or
// one that needs more than the page's address has.
func (r *request) apiAddress() string {
	if r.s.APIPath == nil || r.who.Name == "" {
		return ""
	}
	path := r.s.APIPath(r.op)
	values, missing := r.c.ParamValues(), path == ""
	path = pathParameter.ReplaceAllStringFunc(path, func(string) string {
		if len(values) == 0 {
			missing = true
			return ""
		}
		value := values[0]
		values = values[1:]
		return url.PathEscape(value)
	})
	if missing {
		return ""
	}
	q := url.Values{}
	for name, as := range apiNames[r.op] {
		if v := r.c.QueryParam(name); v != "" {
			q.Set(as, v)
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// forAPI turns the request for an address that the API answers in the dashboard's
// place into one for the API: what scrapers look for, and exports of runs. The API
// asks by itself who may.
func (s *Server) forAPI(r *http.Request) (*http.Request, bool) {
	if s.API == nil {
		return r, false
	}
	path := r.URL.EscapedPath()
	run, isExport := strings.CutSuffix(strings.TrimPrefix(path, "/runs/"), "/export")
	switch {
	case path == "/api/v1" || strings.HasPrefix(path, "/api/v1/"):
		return r, true
	case path == "/metrics":
	case isExport && strings.HasPrefix(path, "/runs/") && !strings.Contains(run, "/"):
	default:
		return r, false
	}
	plain, err := url.PathUnescape(path)
	if err != nil {
		return r, false
	}
	r = r.Clone(r.Context())
	r.URL.Path, r.URL.RawPath = "/api/v1"+plain, "/api/v1"+path
	return r, true
}
