// Package agents has the pages of the catalog: agents, the providers of models behind them,
// tools, the MCP servers that tools come from, and their circuits.
package agents

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/ui"
)

// readTimeout bounds what a page reads of the plans that use an agent or a tool.
const readTimeout = 5 * time.Second

// Ports are what these pages need of the server.
type Ports struct {
	App      *app.App
	Reader   Reader
	Engine   Engine
	Settings Settings // nil: nothing is known of secrets
	Plans    bool     // requests are planned: an agent can be requested
}

// Reader finds plans, runs, and handoffs of agents and tools.
type Reader interface {
	Plans(ctx context.Context, f domain.PlanFilter) (domain.List[domain.Plan], error)
	Runs(ctx context.Context, f domain.RunFilter) (domain.List[domain.Run], error)
	// HandoffsOf lists handoffs of all runs with what came of them, newest first.
	HandoffsOf(ctx context.Context, f domain.HandoffFilter) (domain.List[domain.HandoffSummary], error)
	// Spend returns what model calls used since a time, in periods of a length.
	Spend(ctx context.Context, since time.Time, period time.Duration) ([]domain.Spend, error)
	// JournalPage gives rows with Seq > after in order, at most limit.
	JournalPage(ctx context.Context, run string, after int64, limit int) ([]domain.Entry, error)
}

// Engine compiles plans and returns the side-effect class of a tool call.
type Engine interface {
	// Program compiles a stored version (cached).
	Program(ctx context.Context, hash string) (*walk.Program, error)
	Catalog() *planner.Catalog
}

// Settings names the secrets that tools may be given.
type Settings interface {
	Settings(ctx context.Context) (domain.Settings, error)
}

type section struct{ Ports }

// Section returns the pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{Routes: s.routes(), Fragments: s.fragments(), Done: done}
}
