package run

import (
	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/part/lineage"
)

// view makes what a tab shows.
type view struct {
	// count is the number in its tab; nil: none.
	count func(*page) string
	// build makes the part that follows events; nil: nothing follows them.
	build func(*page) (View, error)
	// values makes the values that can be searched and unfolded; nil: there are none.
	values func(*page) (templ.Component, error)
}

// views are those of the tabs, by id.
var views = map[string]view{
	"timeline": {build: func(b *page) (View, error) {
		v := View{Live: timelineView(*timelineOf(b.record))}
		if len(b.program.Nodes) <= smallGraph {
			v.Graph = graphPart{b.record}.graph(false)
		}
		return v, nil
	}},
	"graph": {build: func(b *page) (View, error) {
		return View{Live: graphView(*graphPart{b.record}.graph(true))}, nil
	}},
	"state": {values: func(b *page) (templ.Component, error) {
		st, err := stateOf(b.record)
		return stateView(st), err
	}},
	"log": {build: func(b *page) (View, error) {
		l := logOf(b.record)
		return View{Live: logLines(*l), Above: logFilter(*l)}, nil
	}},
	"handoffs": {build: func(b *page) (View, error) {
		h, err := handoffsOf(b.record)
		if err != nil {
			return View{}, err
		}
		return View{Live: handoffs(*h), Inspector: h.Chosen}, nil
	}},
	"events": {count: func(b *page) string {
		return b.events.eventCount()
	}, build: func(b *page) (View, error) {
		v, err := b.events.events()
		if err != nil {
			return View{}, err
		}
		return View{Live: events(*v)}, nil
	}},
	"io": {values: func(b *page) (templ.Component, error) {
		v, err := valuesPart{b.record}.inputAndOutput()
		return valuesView(v), err
	}},
	"lineage": {values: func(b *page) (templ.Component, error) {
		t, err := lineage.Of(b.Context, b.Reader, b.d.Run)
		if b.Who.Role.Includes(domain.RoleOperator) {
			t.Fork = "/runs/" + b.d.Run.ID + "/fork"
		}
		return lineage.View(t), err
	}},
}

// smallGraph is how many nodes a picture below the timeline may have.
const smallGraph = 60
