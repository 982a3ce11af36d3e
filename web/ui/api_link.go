package ui

import (
	"net/url"
	"regexp"

	"github.com/kairosd/kairosd/internal/app"
)

// apiNames maps the query parameters of pages to those of the API operation with the same data.
var apiNames = map[app.Operation]map[string]string{
	app.ListRuns:      {"q": "filter", "n": "limit"},
	app.CompareRuns:   {"a": "a", "b": "b"},
	app.ListPlans:     {"q": "filter"},
	app.ListApprovals: {"status": "status", "plan": "plan", "agent": "agent"},
	app.SearchSteps:   {"q": "filter", "sort": "sort"},
	app.ListHandoffs:  {"q": "filter"},
	app.ListAudit:     {"q": "filter"},
	app.GetSpend:      {"by": "by", "range": "since"},
}

var pathParameter = regexp.MustCompile(`\{[^}]+\}`)

// apiAddress returns the address of the JSON view of this page: the same operation with the same
// filter. It is empty if the API has no such operation, or if the operation requires parameters
// that the address of the page lacks.
func apiAddress(c *Context) string {
	if c.Site.APIPath == nil || c.Principal.Name == "" {
		return ""
	}
	path := c.Site.APIPath(c.Op)
	values, missing := c.Echo.ParamValues(), path == ""
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
	for name, as := range apiNames[c.Op] {
		if v := c.Echo.QueryParam(name); v != "" {
			if name == "sort" && v == "took" {
				v = "duration"
			}
			q.Set(as, v)
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}
