package query

import (
	"net/url"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
)

// Bar is the filter bar of a list: presets, the terms of the active filter, a text field, and time
// ranges.
type Bar struct {
	Path, Label string
	Query       string
	Example     string // example of a filter
	Suggest     string // address of the suggestions, or empty
	Help        string // address of the help, or empty
	Chips       []kit.Link
	Terms       []kit.Link
	Ranges      []kit.Link
	Export      kit.Link
	Kept        []kit.Option // other query parameters to keep
}

// Preset is a predefined filter.
type Preset struct{ Word, Query string }

// BarOf returns the bar of the list at path. It shows the terms of q, unless q is a preset.
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

// Keep adds another query parameter that stays when the filter changes. It ignores an empty value.
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

// Here returns the address of the list with its filter.
func (b Bar) Here() string { return link.List(b.Path, b.Query) }
