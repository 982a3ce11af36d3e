// Package runs serves the run list with its filter, columns, and export, the preview of a run, and
// the step search across runs.
package runs

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are the dependencies of these pages.
type Ports struct {
	App      *app.App
	Reader   Reader
	Programs part.Programs
}

// Reader reads runs from the store. Lists are paginated by key.
type Reader interface {
	ui.Reader
	// FindRun finds a run by id, or by an unambiguous prefix or suffix of at least 4 characters. It
	// returns CodeNotFound, or CodeConflict if several runs match.
	FindRun(ctx context.Context, id string) (domain.Run, error)
	Runs(ctx context.Context, f domain.RunFilter) (domain.List[domain.Run], error)
	// Outcomes counts by plan and half hour the runs that ended since a time.
	Outcomes(ctx context.Context, since time.Time) ([]domain.Outcome, error)
	// SortedRuns returns the first runs in a sort order, among the newest matching runs. The window
	// states how many runs were compared.
	SortedRuns(ctx context.Context, f domain.RunFilter, by domain.RunSort) ([]domain.Run, domain.SortWindow, error)
	// LastRuns returns the newest runs of a plan with id, status, and times only.
	LastRuns(ctx context.Context, plan string, limit int) ([]domain.Run, error)
	// RunsCount counts matching runs up to cap. whole is false if there may be more.
	RunsCount(ctx context.Context, f domain.RunFilter, cap int) (n int, whole bool, err error)
	// Uses returns the agents, tools, and providers that took part in a run.
	Uses(ctx context.Context, run string) ([]domain.Use, error)
	// Known returns the values that occur in runs for a key of the filter: error, by, agent, tool,
	// or provider.
	Known(ctx context.Context, key string, limit int) ([]string, error)
	// JournalPage returns journal rows with Seq > after in order, at most limit. A limit of 0 means
	// all.
	JournalPage(ctx context.Context, run string, after int64, limit int) ([]domain.Entry, error)
	Plan(ctx context.Context, idOrKey string) (domain.Plan, error)
	Plans(ctx context.Context, f domain.PlanFilter) (domain.List[domain.Plan], error)
	// Steps searches attempts of steps across runs.
	Steps(ctx context.Context, f domain.StepFilter) (domain.StepHits, error)
}

type section struct {
	Ports
	rows part.Rows
}

// Section returns the routes and fragments of these pages.
func Section(p Ports) ui.Section {
	s := &section{p, part.Rows{Programs: p.Programs}}
	return ui.Section{
		Fragments: []ui.Fragment{{Page: "/runs/changes", ID: "pill", Operation: app.ListRuns, Topics: []string{"runs"}, Build: s.changes}},
		Routes: []ui.Route{
			{Get: "/runs", Operation: app.ListRuns, Handle: s.runs},
			{Get: "/runs/changes", Operation: app.ListRuns, Handle: s.changesPage},
			{Get: "/runs/suggest", Operation: app.ListRuns, Handle: s.suggest},
			{Get: "/runs.csv", Operation: app.ListRuns, Handle: s.exportRuns},
			{Get: "/runs/:run/peek", Operation: app.GetRun, Handle: s.peek},
			{Post: "/columns", Operation: app.SetPreference, Handle: s.setColumns},
			{Post: "/views", Operation: app.SaveView, Handle: s.saveView},
			{Post: "/views/default", Operation: app.SetPreference, Handle: s.setDefaultView},
			{Get: "/steps", Operation: app.SearchSteps, Handle: s.steps},
		},
		Done: []ui.Done{
			{Name: "opens-with", Path: "/views/default", Message: locale.Mark("Default view changed.")},
		},
	}
}
