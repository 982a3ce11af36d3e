package run

import (
	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/part/lineage"
	"github.com/kairosd/kairosd/web/run/events"
	"github.com/kairosd/kairosd/web/run/handoffs"
	"github.com/kairosd/kairosd/web/run/log"
	"github.com/kairosd/kairosd/web/run/state"
	"github.com/kairosd/kairosd/web/run/timeline"
)

// view builds the content of a tab.
type view struct {
	// count returns the number in the tab, or is nil.
	count func(*page) string
	// build returns the live region, or is nil if the view is not updated live.
	build func(*page) (View, error)
	// values returns values that can be searched and expanded, or is nil.
	values func(*page) (templ.Component, error)
}

// views contains the views by the id of their tab.
var views = map[string]view{
	"timeline": {build: func(b *page) (View, error) {
		v := View{Live: timeline.View(*timeline.Of(b.Record))}
		if len(b.Program.Nodes) <= smallGraph {
			v.Graph = graphPart{b.Record}.graph(false)
		}
		return v, nil
	}},
	"graph": {build: func(b *page) (View, error) {
		return View{Live: graphView(*graphPart{b.Record}.graph(true))}, nil
	}},
	"state": {values: func(b *page) (templ.Component, error) {
		st, err := state.Of(b.Record)
		return state.View(st), err
	}},
	"log": {build: func(b *page) (View, error) {
		l := log.Of(b.Record)
		return View{Live: log.Lines(*l), Above: log.Filter(*l)}, nil
	}},
	"handoffs": {build: func(b *page) (View, error) {
		h, err := handoffs.Of(b.Record)
		if err != nil {
			return View{}, err
		}
		return View{Live: handoffs.View(*h), Inspector: h.Chosen}, nil
	}},
	"events": {count: func(b *page) string {
		return b.events.Count()
	}, build: func(b *page) (View, error) {
		v, err := b.events.Events()
		if err != nil {
			return View{}, err
		}
		return View{Live: events.View(*v)}, nil
	}},
	"io": {values: func(b *page) (templ.Component, error) {
		v, err := valuesPart{b.Record}.inputAndOutput()
		return valuesView(v), err
	}},
	"lineage": {values: func(b *page) (templ.Component, error) {
		t, err := lineage.Of(b.Context, b.Reader, b.Detail.Run)
		if b.Principal.Role.Includes(domain.RoleOperator) {
			t.Fork = "/runs/" + b.Detail.Run.ID + "/fork"
		}
		return lineage.View(t), err
	}},
}

// smallGraph is the maximum number of steps of a plan whose graph is shown above the timeline.
const smallGraph = 60
