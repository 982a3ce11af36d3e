package run

import (
	"slices"

	"github.com/kairosd/kairosd/web/locale"
)

// tab names one way to look at a run.
type tab struct {
	id, title string
	// steps reports that it shows steps: one of them always stands beside it.
	steps bool
}

// tabs are all of them, in their order.
var tabs = []tab{
	{id: "timeline", title: locale.Mark("Timeline"), steps: true},
	{id: "graph", title: locale.Mark("Graph"), steps: true},
	{id: "state", title: locale.Mark("State")},
	{id: "log", title: locale.Mark("Log")},
	{id: "handoffs", title: locale.Mark("Handoffs")},
	{id: "events", title: locale.Mark("Events")},
	{id: "io", title: locale.Mark("Input and output")},
	{id: "lineage", title: locale.Mark("Lineage")},
}

// tabNamed is the tab with an id, else the first.
func tabNamed(id string) tab {
	return tabs[max(0, slices.IndexFunc(tabs, func(t tab) bool { return t.id == id }))]
}
