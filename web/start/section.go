// Package start has the form that starts a run, the list to choose its plan from, and the
// demonstration of recovery.
package start

import (
	"context"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are the dependencies of these pages.
type Ports struct {
	App    *app.App
	Reader Reader
	Plans  Plans
}

// Reader reads from the store.
type Reader interface {
	// FindRun returns the run with an ID, or with an unambiguous prefix or suffix of at least 4
	// characters. Errors have CodeNotFound, or CodeConflict if several runs match.
	FindRun(ctx context.Context, id string) (domain.Run, error)
	Plan(ctx context.Context, idOrKey string) (domain.Plan, error)
	Plans(ctx context.Context, f domain.PlanFilter) (domain.List[domain.Plan], error)
	Versions(ctx context.Context, planID string) ([]domain.Version, error) // newest first, without source
	VersionByNumber(ctx context.Context, planID string, number int) (domain.Version, error)
}

// Plans returns the input schema and the side effects of a stored version.
type Plans interface {
	part.Programs
	// Effects returns the possible side effects of each node of a stored version, in the order of
	// the nodes, as far as they are known without input.
	Effects(ctx context.Context, ref domain.ProgramRef) ([]walk.Effect, error)
}

type section struct{ Ports }

// Section returns the pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	progress := ui.Fragment{Page: "/demo", ID: "demo-progress", Operation: app.GetDemo, Topics: []string{"demo"}, Build: s.demoFragment}
	return ui.Section{Fragments: []ui.Fragment{progress}, Routes: []ui.Route{
		{Get: "/runs/new", Operation: app.StartRun, Handle: s.newRun},
		{Get: "/plans/:plan/start", Operation: app.StartRun, Handle: s.startPage},
		{Post: "/plans/:plan/start", Operation: app.StartRun, Handle: s.start},
		{Get: "/first-steps", Operation: app.GetMe, Handle: s.firstSteps},
		{Post: "/first-steps", Operation: app.SetPreference, Handle: s.dismissSteps},
		{Get: "/demo", Operation: app.GetDemo, Handle: s.demoPage},
		{Post: "/demo", Operation: app.BeginDemo, Handle: s.beginDemo},
		{Post: "/demo/answer", Operation: app.AnswerDemo, Handle: s.answerDemo},
	}}
}
