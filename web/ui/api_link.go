package ui

import (
	"net/url"
	"regexp"

	"github.com/kairosd/kairosd/internal/app"
)

// apiNames are the parameters of a page's query that the API's operation has too,
// with the API's names for them.
var apiNames = map[app.Operation]map[string]string{
	app.ListRuns:      {"q": "filter", "n": "limit"},
	app.CompareRuns:   {"a": "a", "b": "b"},
	app.ListPlans:     {"q": "filter"},
	app.ListApprovals: {"status": "status", "plan": "plan", "agent": "agent"},
	app.SearchSteps:   {"q": "filter", "sort": "sort"},
	app.ListHandoffs:  {"q": "filter"},
	app.ListAudit:     {"q": "filter"},
}

var pathParameter = regexp.MustCompile(`\{[^}]+\}`)

// apiAddress is where the API answers the operation that this page shows, with the
// same objects and the same filter. It is empty if the API has no such address, or
// one that needs more than the page's address has.
func apiAddress(c *Context) string {
	if c.Site.APIPath == nil || c.Who.Name == "" {
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
