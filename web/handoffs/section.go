// Package handoffs has the pages of handoffs between agents: all of them, and the runs
// that go back and forth.
package handoffs

import (
	"context"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are what these pages need of the server.
type Ports struct{ Reader Reader }

// Reader finds handoffs.
type Reader interface {
	// HandoffsOf lists handoffs of all runs with what came of them, newest first.
	HandoffsOf(ctx context.Context, f domain.HandoffFilter) (domain.List[domain.HandoffSeen], error)
}

type section struct{ Ports }

// Section returns the pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{Routes: []ui.Route{
		{Get: "/handoffs", Operation: app.ListHandoffs, Handle: s.list},
	}}
}
