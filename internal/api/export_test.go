package api

import (
	"github.com/kairosd/kairosd/internal/app"
)

// Routes lists all routes, as "METHOD /path".
func Routes(a *API) []string {
	var out []string
	for _, r := range a.echo.Routes() {
		path := r.Path[len(Base):]
		out = append(out, r.Method+" "+braces(path))
	}
	return out
}

// braces turns echo's :name into {name}.
func braces(path string) string {
	out, open := []byte{}, false
	for i := range len(path) {
		switch c := path[i]; {
		case c == ':':
			out, open = append(out, '{'), true
		case c == '/' && open:
			out, open = append(out, '}', '/'), false
		default:
			out = append(out, c)
		}
	}
	if open {
		out = append(out, '}')
	}
	return string(out)
}

// Needs returns the policy of a route, "METHOD /path".
func Needs(a *API, route string) app.Rule {
	for _, r := range a.routes {
		if r.method+" "+r.path == route {
			rule, _ := app.Policy(r.op)
			return rule
		}
	}
	return app.Rule{Role: "none"}
}

// CheckJSON reports whether checkJSON refuses a body.
func CheckJSON(body []byte) error {
	if p := checkJSON(body); p != nil {
		return p
	}
	return nil
}

// Description returns the OpenAPI document.
func Description(a *API) ([]byte, error) { return a.description() }
