package run

import (
	"net/url"

	"github.com/kairosd/kairosd/web/ui"
)

// Kept are the parameters that stay when others change: what is looked at, and
// how.
var Kept = []string{"view", "step", "node", "try", "tab", "cp", "against", "only", "sort", "idle", "critical", "open", "from", "to", "rows",
	"paint", "zoom", "mode", "all", "logstep", "level", "logq", "line", "lines", "delta", "kinds", "find", "into", "nth", "handoff"}

// At is the page of a run as it is looked at, with some parameters changed.
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
