// Package run has the pages of one run.
package run

import (
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/ui"
)

type section struct{ Ports }

// handle opens a request for a handler.
func (s *section) handle(f func(*request) error) func(*ui.Context) error {
	return func(c *ui.Context) error { return f(&request{c, &s.Ports}) }
}

// Section returns the pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{Fragments: s.fragments(), Routes: []ui.Route{
		{Get: "/runs/:run", Operation: app.GetRun, Handle: s.handle(show)},
		{Get: "/runs/:run/graph.svg", Operation: app.GetRun, Handle: s.handle(graphFile)},
		{Get: "/runs/:run/lineage", Operation: app.GetRun, Handle: ui.See("/runs/:run?view=lineage")},
		{Get: "/doubts", Operation: app.ResolveNode, Handle: s.handle(doubtsPage)},
		{Post: "/doubts", Operation: app.ResolveNode, Handle: s.handle(resolveDoubts)},
		{Get: "/runs/:run/steps/:seq", Operation: app.GetStep, Handle: s.handle(showStep)},
		{
			Get:       "/runs/:run/steps/:seq/raw/:part",
			Operation: app.GetStep,
			Handle:    s.handle(rawPart),
		},
		{Get: "/runs/:run/log", Operation: app.GetJournal, Handle: ui.See("/runs/:run?view=log")},
		{Get: "/runs/:run/log.txt", Operation: app.GetJournal, Handle: s.handle(logFile)},
		{Get: "/runs/:run/log.jsonl", Operation: app.GetJournal, Handle: s.handle(logRows)},
		{Get: "/runs/:run/state", Operation: app.GetJournal, Handle: ui.See("/runs/:run?view=state")},
		{Get: "/runs/:run/state/:cp", Operation: app.GetJournal, Handle: s.handle(stateAt)},
		{Get: "/runs/:run/raw/:seq/:part", Operation: app.GetStep, Handle: s.handle(rawValue)},
		{Get: "/runs/:run/summary.md", Operation: app.GetRun, Handle: s.handle(summaryFile)},
	}}
}
