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
		if b.Who.Role.Includes(domain.RoleOperator) {
			t.Fork = "/runs/" + b.Detail.Run.ID + "/fork"
		}
		return lineage.View(t), err
	}},
}

// smallGraph is how many nodes a picture below the timeline may have.
const smallGraph = 60
