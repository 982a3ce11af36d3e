// Package views contains the built-in views of the run list.
package views

import (
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/ui"
)

// DefaultKey is the name of the preference with the default query of the run list.
const DefaultKey = "run view"

// Common returns links to the built-in views.
func Common(c *ui.Context, q string) []kit.Link {
	var out []kit.Link
	for _, v := range []struct{ word, query string }{{c.T("Failed in 24 h"), "status:failed since:24h"},
		{c.T("Slow"), "took:>5m since:24h"},
		{c.T("Mine"), "by:" + filter.Quote(c.Principal.Name)}} {
		out = append(out, kit.Link{Text: v.word, Href: link.List("/runs", v.query), Current: q == v.query})
	}
	return out
}
