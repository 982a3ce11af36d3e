// Package bulk serves the pages of bulk operations: preview, progress, and list.
package bulk

import (
	"github.com/a-h/templ"
	"github.com/kairosd/kairosd/internal/app"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are the dependencies of these pages.
type Ports struct {
	App      *app.App
	Programs part.Programs
}

type section struct {
	Ports
	rows part.Rows
}

// Section returns the routes, fragments, and messages of these pages.
func Section(p Ports) ui.Section {
	s := &section{p, part.Rows{Programs: p.Programs}}
	progress := ui.Fragment{
		Page:      "/bulk/:bulk",
		ID:        "progress",
		Operation: app.GetBulk,
		Topics:    []string{"runs"},
		Build: func(c *ui.Context) (templ.Component, error) {
			p, err := s.progress(c)
			return state(p), err
		},
	}
	items := ui.Fragment{
		Page:      "/bulk/:bulk",
		ID:        "items",
		Operation: app.GetBulk,
		Topics:    []string{"runs"},
		Build: func(c *ui.Context) (templ.Component, error) {
			v, err := s.items(c)
			return itemList(v), err
		},
	}
	return ui.Section{Fragments: []ui.Fragment{progress, items}, Routes: []ui.Route{
		{Get: "/bulk", Operation: app.ListBulks, Handle: s.list},
		{Get: "/bulk/new", Operation: app.StartBulk, Handle: s.preview},
		{Post: "/bulk", Operation: app.StartBulk, Handle: s.start},
		{Get: "/bulk/:bulk", Operation: app.GetBulk, Handle: s.show},
		{Post: "/bulk/:bulk/stop", Operation: app.StopBulk, Handle: s.stop},
	}}
}
