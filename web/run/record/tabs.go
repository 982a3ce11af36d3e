package record

import (
	"slices"

	"github.com/kairosd/kairosd/web/locale"
)

// tab is a view of a run.
type tab struct {
	ID, Title string
	// Steps reports whether the view shows steps. Such a view always has a step next to it.
	Steps bool
}

// Tabs are all views, in their order.
var Tabs = []tab{
	{ID: "timeline", Title: locale.Mark("Timeline"), Steps: true},
	{ID: "graph", Title: locale.Mark("Graph"), Steps: true},
	{ID: "state", Title: locale.Mark("State")},
	{ID: "log", Title: locale.Mark("Log")},
	{ID: "handoffs", Title: locale.Mark("Handoffs")},
	{ID: "events", Title: locale.Mark("Events")},
	{ID: "io", Title: locale.Mark("Input and output")},
	{ID: "lineage", Title: locale.Mark("Lineage")},
}

// tabNamed returns the tab with an id, or the first one.
func tabNamed(id string) tab {
	return Tabs[max(0, slices.IndexFunc(Tabs, func(t tab) bool { return t.ID == id }))]
}
