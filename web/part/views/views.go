// Package views has the views of the run list that everybody has.
package views

import (
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/ui"
)

// DefaultKey is the preference that holds the query which the run list opens with.
const DefaultKey = "run view"

// Common are the questions that everybody asks.
func Common(c *ui.Context, q string) []kit.Link {
	var out []kit.Link
	for _, v := range []struct{ word, query string }{{c.T("Failed in 24 h"), "status:failed since:24h"},
		{c.T("Slow"), "took:>5m since:24h"},
		{c.T("Mine"), "by:" + filter.Quote(c.Who.Name)}} {
		out = append(out, kit.Link{Text: v.word, Href: link.List("/runs", v.query), Current: q == v.query})
	}
	return out
}
