package query

import (
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
)

// Bar narrows a list: common filters, the terms of the active one, a field, and times.
type Bar struct {
	Path, Label string
	Query       string
	Example     string // of a filter
	Suggest     string // address of suggestions; empty: none
	Help        string // address; empty: none
	Chips       []kit.Link
	Terms       []kit.Link
	Ranges      []kit.Link
	Export      kit.Link
	Kept        []kit.Option // other parameters of the address
}

// Preset is a common filter.
type Preset struct{ Word, Query string }

// BarOf is the bar of the list at an address. The terms are those of a filter that no preset has.
func BarOf(path, q string, presets ...Preset) Bar {
	b := Bar{Path: path, Query: q}
	for _, p := range presets {
		b.Chips = append(b.Chips, kit.Link{Text: p.Word, Href: link.List(path, p.Query), Current: q == p.Query})
	}
	if !slices.ContainsFunc(b.Chips, func(l kit.Link) bool { return l.Current }) {
		b.Terms = Terms(path, q)
	}
	return b
}

// Keep makes another parameter of the address stay when the filter changes. An empty value is not kept.
func (b *Bar) Keep(name, value string) {
	if value == "" {
		return
	}
	b.Kept = append(b.Kept, kit.Option{Value: name, Text: value})
	for i, t := range b.Terms {
		mark := "?"
		if strings.Contains(t.Href, "?") {
			mark = "&"
		}
		b.Terms[i].Href += mark + url.Values{name: {value}}.Encode()
	}
}

// Here is the address of the list with its filter.
func (b Bar) Here() string { return link.List(b.Path, b.Query) }
