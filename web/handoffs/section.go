// Package handoffs has the pages of handoffs between agents: all of them, and the runs
// that go back and forth.
package handoffs

import (
	"context"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are what these pages need of the server.
type Ports struct {
	Reader Reader
	Engine Engine
}

// Reader finds handoffs.
type Reader interface {
	// HandoffsOf lists handoffs of all runs with what came of them, newest first.
	HandoffsOf(ctx context.Context, f domain.HandoffFilter) (domain.List[domain.HandoffSummary], error)
	// Handoff is one of them; CodeNotFound.
	Handoff(ctx context.Context, id string) (domain.HandoffSummary, error)
	// HandoffsLike are a few whose ids begin as an id does.
	HandoffsLike(ctx context.Context, id string, limit int) ([]domain.HandoffSummary, error)
	// Conversation is what a run's agents sent to each other, in order.
	Conversation(ctx context.Context, run string) (domain.Conversation, error)
}

// Engine folds runs, and lists the agents.
type Engine interface {
	Detail(ctx context.Context, run string) (domain.RunDetail, error)
	Catalog() *planner.Catalog
}

type section struct{ Ports }

// Section returns the pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{Routes: []ui.Route{
		{Get: "/handoffs", Operation: app.ListHandoffs, Handle: s.list},
		{Get: "/handoffs/:handoff", Operation: app.GetHandoff, Handle: s.handoff},
	}}
}
