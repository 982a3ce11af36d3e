package account

import (
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/query"
	"github.com/kairosd/kairosd/web/ui"
)

// rowsPerPage is the number of users or tokens per page.
const rowsPerPage = 50

// list is a filtered list of users or tokens.
type list struct {
	Bar        query.Bar
	BarProblem [2]string // why the filter is invalid, and a suggestion
	More       string
}

// listOf returns the list at an address, with its filter bar.
func listOf(c *ui.Context, path, label, example string, presets ...query.Preset) list {
	l := list{Bar: query.BarOf(path, strings.TrimSpace(c.Query("q")), presets...)}
	l.Bar.Label, l.Bar.Example = label, example
	return l
}

// page returns one page of the items that match the filter. id returns the identifier of an item.
func page[S, T any](c *ui.Context, l *list, all []S, id func(S) string, view func(S) T) ([]S, error) {
	var sample T
	if _, problem := filter.ParseItems(l.Bar.Query, sample); problem != nil {
		l.BarProblem[0], l.BarProblem[1] = c.FilterProblem(problem)
		return nil, nil
	}
	found, err := filter.Select(l.Bar.Query, all, view)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(found, func(x S) bool { return id(x) == c.Query("after") }); i >= 0 {
		found = found[i+1:]
	}
	if len(found) > rowsPerPage {
		found = found[:rowsPerPage]
		l.More = link.With(l.Bar.Path, url.Values{"after": {id(found[rowsPerPage-1])}}, "q", l.Bar.Query)
	}
	return found, nil
}

// none returns the empty state of a filtered list.
func (l list) none(text, all string) kit.EmptyState {
	return kit.EmptyState{Text: text, Next: kit.Link{Text: all, Href: l.Bar.Path}}
}
