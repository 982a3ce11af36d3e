package web

import (
	"net/http"
	"net/url"
	"strings"
)

// apiRequest reports whether the API serves a request, also those of MCP and A2A clients. It returns the request to pass on: the paths of
// metrics and run exports are outside /api/v1 and must be rewritten. The API checks permissions.
func (s *Server) apiRequest(r *http.Request) (*http.Request, bool) {
	if s.API == nil {
		return r, false
	}
	path := r.URL.EscapedPath()
	run, isExport := strings.CutSuffix(strings.TrimPrefix(path, "/runs/"), "/export")
	switch {
	case path == "/api/v1" || strings.HasPrefix(path, "/api/v1/"), path == "/mcp", path == "/a2a",
		path == "/.well-known/agent-card.json":
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
