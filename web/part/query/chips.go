package query

import (
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
)

// Terms returns the terms of a query, each with a link to the list at path without that term.
func Terms(path, q string) []kit.Link {
	terms := filter.Terms(q)
	out := make([]kit.Link, len(terms))
	for i, t := range terms {
		rest := slices.Delete(slices.Clone(terms), i, i+1)
		out[i] = kit.Link{Text: kit.Escape(t), Href: link.List(path, strings.Join(rest, " "))}
	}
	return out
}
