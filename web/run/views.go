package run

import (
	"slices"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/lineage"
)

// view is one way to look at a run, with a tab of its own.
type view struct {
	id, title string
	// steps reports that it shows steps: one of them always stands beside it.
	steps bool
	// count is the number in its tab; nil: none.
	count func(*page) string
	// build makes the part that follows events; nil: nothing follows them.
	build func(*page) (View, error)
	// values makes the values that can be searched and unfolded; nil: there are none.
	values func(*page) (templ.Component, error)
}

// views are all of them, in the order of the tabs.
var views = []view{
	{id: "timeline", title: locale.Mark("Timeline"), steps: true, build: func(b *page) (View, error) {
		v := View{Live: timelineView(*b.timeline())}
		if len(b.program.Nodes) <= smallGraph {
			v.Graph = graphPart{b.record}.graph(false)
		}
		return v, nil
	}},
	{id: "graph", title: locale.Mark("Graph"), steps: true, build: func(b *page) (View, error) {
		return View{Live: graphView(*graphPart{b.record}.graph(true))}, nil
	}},
	{id: "state", title: locale.Mark("State"), values: func(b *page) (templ.Component, error) {
		st, err := statePart{b.record}.shown()
		return stateView(st), err
	}},
	{id: "log", title: locale.Mark("Log"), build: func(b *page) (View, error) {
		l := logPart{b.record}.log()
		return View{Live: logLines(*l), Above: logFilter(*l)}, nil
	}},
	{id: "handoffs", title: locale.Mark("Handoffs"), build: func(b *page) (View, error) {
		h, err := handoffsPart{b.record}.handoffs()
		if err != nil {
			return View{}, err
		}
		return View{Live: handoffs(*h), Inspector: h.Chosen}, nil
	}},
	{id: "events", title: locale.Mark("Events"), count: func(b *page) string {
		return b.events.eventCount()
	}, build: func(b *page) (View, error) {
		v, err := b.events.events()
		if err != nil {
			return View{}, err
		}
		return View{Live: events(*v)}, nil
	}},
	{id: "io", title: locale.Mark("Input and output"), values: func(b *page) (templ.Component, error) {
		v, err := valuesPart{b.record}.inputAndOutput()
		return valuesView(v), err
	}},
	{id: "lineage", title: locale.Mark("Lineage"), values: func(b *page) (templ.Component, error) {
		t, err := lineage.Of(b.Context, b.Reader, b.d.Run)
		if b.Who.Role.Includes(domain.RoleOperator) {
			t.Fork = "/runs/" + b.d.Run.ID + "/fork"
		}
		return lineage.View(t), err
	}},
}

// viewNamed is the view with an id, else the first.
func viewNamed(id string) view {
	return views[max(0, slices.IndexFunc(views, func(v view) bool { return v.id == id }))]
}
