// Package find has the search page and the suggestions of the jump box.
package find

import (
	"context"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are the dependencies of the page.
type Ports struct {
	Reader   Reader
	Programs part.Programs
}

// Reader reads from the store.
type Reader interface {
	// FindRun returns the run with an ID, or with an unambiguous prefix or suffix of at least 4
	// characters. Errors have CodeNotFound, or CodeConflict if several runs match.
	FindRun(ctx context.Context, id string) (domain.Run, error)
	Runs(ctx context.Context, f domain.RunFilter) (domain.List[domain.Run], error)
	Plan(ctx context.Context, idOrKey string) (domain.Plan, error)
	Plans(ctx context.Context, f domain.PlanFilter) (domain.List[domain.Plan], error)
}

type section struct {
	Ports
	rows part.Rows
}

// Section returns the pages.
func Section(p Ports) ui.Section {
	s := &section{p, part.Rows{Programs: p.Programs}}
	return ui.Section{Routes: []ui.Route{
		{Get: "/find", Operation: app.ListRuns, Handle: s.find},
		{Get: "/find/suggest", Operation: app.ListRuns, Handle: s.suggest},
	}}
}
