package run

import (
	"net/url"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/ui"
)

// Kept are the query parameters of a run page that stay when others change.
var Kept = []string{"view", "step", "node", "try", "tab", "cp", "against", "only", "sort", "idle", "critical", "open", "from", "to", "rows",
	"paint", "zoom", "mode", "all", "logstep", "level", "logq", "line", "lines", "delta", "kinds", "find", "into", "nth", "handoff"}

// At returns the address of the current view of a run, with some parameters changed. An empty value
// removes a parameter.
func At(c *ui.Context, id string, set url.Values) string {
	q := url.Values{}
	for _, key := range Kept {
		if v := c.Query(key); v != "" {
			q.Set(key, v)
		}
	}
	for k, v := range set {
		q[k] = v
	}
	path := "/runs/" + id
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// Crumbs is the path to the page of a run.
func Crumbs(c *ui.Context, run domain.Run) []kit.Link {
	return []kit.Link{
		{Text: c.T("Runs"), Href: "/runs"},
		{Text: run.PlanKey, Href: "/plans/" + url.PathEscape(run.PlanKey)},
		{Text: domain.ShortID(run.ID), Href: "/runs/" + run.ID, Class: "m"},
	}
}
