// Package run contains the pages of one run.
package run

import (
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/run/doubts"
	"github.com/kairosd/kairosd/web/run/log"
	"github.com/kairosd/kairosd/web/run/record"
	"github.com/kairosd/kairosd/web/run/state"
	"github.com/kairosd/kairosd/web/run/step"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are the dependencies of the package.
type Ports = record.Ports

type section struct{ Ports }

// handle returns a handler that calls f with a request.
func (s *section) handle(f func(*record.Request) error) func(*ui.Context) error {
	return func(c *ui.Context) error { return f(&record.Request{Context: c, Ports: &s.Ports}) }
}

// Section returns the routes and fragments of the pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{Fragments: s.fragments(), Routes: []ui.Route{
		{Get: "/runs/:run", Operation: app.GetRun, Handle: s.handle(show)},
		{Get: "/runs/:run/graph.svg", Operation: app.GetRun, Handle: s.handle(graphFile)},
		{Get: "/runs/:run/lineage", Operation: app.GetRun, Handle: ui.RedirectTo("/runs/:run?view=lineage")},
		{Get: "/doubts", Operation: app.ResolveNode, Handle: s.handle(doubts.Page)},
		{Post: "/doubts", Operation: app.ResolveNode, Handle: s.handle(doubts.Resolve)},
		{Get: "/runs/:run/steps/:seq", Operation: app.GetStep, Handle: s.handle(step.Show)},
		{
			Get:       "/runs/:run/steps/:seq/raw/:part",
			Operation: app.GetStep,
			Handle:    s.handle(step.RawPart),
		},
		{Get: "/runs/:run/log", Operation: app.GetJournal, Handle: ui.RedirectTo("/runs/:run?view=log")},
		{Get: "/runs/:run/log.txt", Operation: app.GetJournal, Handle: s.handle(log.File)},
		{Get: "/runs/:run/log.jsonl", Operation: app.GetJournal, Handle: s.handle(log.Rows)},
		{Get: "/runs/:run/state", Operation: app.GetJournal, Handle: ui.RedirectTo("/runs/:run?view=state")},
		{Get: "/runs/:run/state/:cp", Operation: app.GetJournal, Handle: s.handle(state.At)},
		{Get: "/runs/:run/raw/:seq/:part", Operation: app.GetStep, Handle: s.handle(step.RawValue)},
		{Get: "/runs/:run/summary.md", Operation: app.GetRun, Handle: s.handle(summaryFile)},
	}}
}
