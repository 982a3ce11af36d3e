// Package runs has the list of runs with its filter, columns, and export, the search of
// steps across runs, and a look at one run that does not leave the list.
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

// Ports are what these pages need of the server.
type Ports struct {
	App      *app.App
	Reader   Reader
	Programs part.Programs
}

// Reader is what these pages read of the store; every list is by key.
type Reader interface {
	ui.Reader
	// FindRun finds a run by id, or by any unambiguous tail or prefix of at
	// least 4 characters; CodeNotFound, CodeConflict when ambiguous.
	FindRun(ctx context.Context, id string) (domain.Run, error)
	Runs(ctx context.Context, f domain.RunFilter) (domain.List[domain.Run], error)
	// Outcomes counts how runs ended since a time, per plan and half hour.
	Outcomes(ctx context.Context, since time.Time) ([]domain.Outcome, error)
	// SortedRuns lists the runs with the most of something among the newest that
	// match, and among how many.
	SortedRuns(ctx context.Context, f domain.RunFilter, by domain.RunSort) ([]domain.Run, domain.SortWindow, error)
	// LastRuns are the newest runs of a plan, with id, state and times only.
	LastRuns(ctx context.Context, plan string, limit int) ([]domain.Run, error)
	// RunsCount counts matches up to the cap; not whole: there may be more.
	RunsCount(ctx context.Context, f domain.RunFilter, cap int) (n int, whole bool, err error)
	// Uses lists agents, tools and providers that took part in a run.
	Uses(ctx context.Context, run string) ([]domain.Use, error)
	// Known are the values that runs have under a key of the filter: error, by,
	// agent, tool or provider.
	Known(ctx context.Context, key string, limit int) ([]string, error)
	// JournalPage gives rows with Seq > after in order, at most limit (0: all).
	JournalPage(ctx context.Context, run string, after int64, limit int) ([]domain.Entry, error)
	Plan(ctx context.Context, idOrKey string) (domain.Plan, error)
	Plans(ctx context.Context, f domain.PlanFilter) (domain.List[domain.Plan], error)
	// Steps finds attempts of steps across runs.
	Steps(ctx context.Context, f domain.StepFilter) (domain.StepHits, error)
}

type section struct {
	Ports
	rows part.Rows
}

// Section returns the pages.
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
