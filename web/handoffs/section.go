// Package handoffs serves the pages of handoffs between agents, including runs with loops.
package handoffs

import (
	"context"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are the dependencies of these pages.
type Ports struct {
	Reader Reader
	Engine Engine
}

// Reader reads handoffs from the store.
type Reader interface {
	// HandoffsOf lists handoffs of all runs with their outcomes, newest first.
	HandoffsOf(ctx context.Context, f domain.HandoffFilter) (domain.List[domain.HandoffSummary], error)
	// Handoff returns a handoff, or CodeNotFound.
	Handoff(ctx context.Context, id string) (domain.HandoffSummary, error)
	// HandoffsLike returns at most limit handoffs whose ids share the longest possible prefix with
	// id.
	HandoffsLike(ctx context.Context, id string, limit int) ([]domain.HandoffSummary, error)
	// Conversation returns the messages between the agents of a run, in order.
	Conversation(ctx context.Context, run string) (domain.Conversation, error)
}

// Engine reads runs and provides the catalog.
type Engine interface {
	Detail(ctx context.Context, run string) (domain.RunDetail, error)
	Catalog() *planner.Catalog
}

type section struct{ Ports }

// Section returns the routes of these pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{Routes: []ui.Route{
		{Get: "/handoffs", Operation: app.ListHandoffs, Handle: s.list},
		{Get: "/handoffs/:handoff", Operation: app.GetHandoff, Handle: s.handoff},
	}}
}
