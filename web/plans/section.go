// Package plans serves the pages of plans: the list, versions, and the editor.
package plans

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/graph"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are the dependencies of these pages.
type Ports struct {
	App    *app.App
	Reader Reader
	Engine Engine
	// Layouts caches the graph layouts of versions.
	Layouts *graph.Layouts
}

// Reader reads plans and runs from the store.
type Reader interface {
	Plans(ctx context.Context, f domain.PlanFilter) (domain.List[domain.Plan], error)
	Plan(ctx context.Context, idOrKey string) (domain.Plan, error)
	// PlanFacts returns the properties by which the plan list can be filtered.
	PlanFacts(ctx context.Context, plan string) ([]domain.PlanFact, error)
	// PlanFlow aggregates by node the newest runs of a plan that began since a time. Version 0
	// means all versions. The number of runs is limited.
	PlanFlow(ctx context.Context, plan string, version int, since time.Time) (domain.PlanFlow, error)
	// PlanOutcomes counts by status the runs of a plan that ended since a time.
	PlanOutcomes(ctx context.Context, plan string, since time.Time) (map[domain.RunStatus]int64, error)
	// PlansThatRun returns the keys of the plans that run a plan.
	PlansThatRun(ctx context.Context, plan string, limit int) ([]string, error)
	Versions(ctx context.Context, planID string) ([]domain.Version, error) // newest first, without source
	VersionByNumber(ctx context.Context, planID string, number int) (domain.Version, error)
	VersionByHash(ctx context.Context, hash string) (domain.Version, error)
	// VersionRuns counts, by version number, the active runs and the results of runs that ended
	// since a time.
	VersionRuns(ctx context.Context, planID string, since time.Time) (map[int]domain.VersionRuns, error)
	Runs(ctx context.Context, f domain.RunFilter) (domain.List[domain.Run], error)
	// LastRuns returns the newest runs of a plan with id, status, and times only.
	LastRuns(ctx context.Context, plan string, limit int) ([]domain.Run, error)
	// NextStart returns the next scheduled run of a plan and its start time. run is empty if none
	// is scheduled, or if too many are queued.
	NextStart(ctx context.Context, plan string) (run string, at time.Time, err error)
}

// Engine compiles and checks plans, and provides the catalog.
type Engine interface {
	graph.Programs
	// Catalog returns the tools, agents, and providers of this server.
	Catalog() *planner.Catalog
	// CheckPlan validates a document without storing it.
	CheckPlan(src []byte, f planner.Format) (*planner.Document, planner.Problems)
}

type section struct{ Ports }

// Section returns the routes and messages of these pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{Routes: s.routes(), Done: actionMessages}
}

func (s *section) routes() []ui.Route {
	return []ui.Route{
		{Get: "/plans", Operation: app.ListPlans, Handle: s.plans},
		{Get: "/plans/new", Operation: app.StorePlan, Handle: s.newPlan},
		{Post: "/plans/new", Operation: app.StorePlan, Handle: s.savePlan},
		{Get: "/plans/check", Operation: app.StorePlan, Handle: s.newPlan},
		{Post: "/plans/check", Operation: app.StorePlan, Handle: s.checkPlan},
		{Get: "/plans/:plan", Operation: app.GetPlan, Handle: s.plan},
		{Get: "/plans/:plan/v/:number", Operation: app.GetPlanVersion, Handle: s.plan},
		{Get: "/plans/:plan/v/:number/graph.svg", Operation: app.GetPlanVersion, Handle: s.planGraphFile},
		{Get: "/plans/:plan/v/:number/source", Operation: app.GetPlanVersion, Handle: s.planSource},
		{Get: "/plans/:plan/v/:number/restore", Operation: app.RestoreVersion, Handle: s.restorePage},
		{Post: "/plans/:plan/v/:number/restore", Operation: app.RestoreVersion, Handle: s.restore},
		{Get: "/plans/:plan/v/:number/accept", Operation: app.AcceptPlan, Handle: s.acceptVersionPage},
		{Post: "/plans/:plan/v/:number/accept", Operation: app.AcceptPlan, Handle: s.acceptVersion},
		{Get: "/plans/:plan/diff/:a/:b", Operation: app.DiffPlan, Handle: s.planDiff},
		{Get: "/plans/:plan/diff/:range", Operation: app.DiffPlan, Handle: s.planDiffRange},
		{Get: "/plans/:plan/versions", Operation: app.ListVersions, Handle: ui.RedirectTo("/plans/:plan")},
		{Get: "/plans/:plan/archive", Operation: app.ArchivePlan, Handle: s.archivePage},
		{Post: "/plans/:plan/archive", Operation: app.ArchivePlan, Handle: s.archive},
		{Get: "/plans/:plan/pause", Operation: app.PausePlan, Handle: s.pausePage},
		{Post: "/plans/:plan/pause", Operation: app.PausePlan, Handle: s.pause},
		{Get: "/plans/:plan/edit", Operation: app.StorePlan, Handle: s.editPlan},
		{Post: "/plans/:plan/edit", Operation: app.StorePlan, Handle: s.savePlan},
	}
}

// actionMessages are the messages shown after an action.
var actionMessages = []ui.Done{
	{Name: "plan-paused", Path: "/plans/:plan/pause", Action: "pause",
		Message: locale.Mark("Plan paused. Active runs will finish.")},
	{Name: "plan-unpaused", Path: "/plans/:plan/pause", Action: "unpause", Message: locale.Mark("Runs of the plan start again.")},
}
