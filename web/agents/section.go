// Package agents serves the catalog pages: agents, model providers, tools, MCP servers, and their
// circuits.
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

// readTimeout limits the search for plans that use an agent or a tool.
const readTimeout = 5 * time.Second

// Ports are the dependencies of these pages.
type Ports struct {
	App      *app.App
	Reader   Reader
	Engine   Engine
	Settings Settings // nil hides the names of secrets
	Plans    bool     // planning is enabled, so users can request a new agent
}

// Reader reads plans, runs, and handoffs from the store.
type Reader interface {
	Plans(ctx context.Context, f domain.PlanFilter) (domain.List[domain.Plan], error)
	Runs(ctx context.Context, f domain.RunFilter) (domain.List[domain.Run], error)
	// HandoffsOf lists handoffs of all runs with their outcomes, newest first.
	HandoffsOf(ctx context.Context, f domain.HandoffFilter) (domain.List[domain.HandoffSummary], error)
	// JournalPage returns journal rows with Seq > after in order, at most limit.
	JournalPage(ctx context.Context, run string, after int64, limit int) ([]domain.Entry, error)
}

// Engine compiles plans and provides the catalog.
type Engine interface {
	// Program returns the compiled form of a stored version. It is cached.
	Program(ctx context.Context, ref domain.ProgramRef) (*walk.Program, error)
	Catalog() *planner.Catalog
}

// Settings provides the applied configuration, which names the secrets of tools.
type Settings interface {
	Settings(ctx context.Context) (domain.Settings, error)
}

type section struct{ Ports }

// Section returns the routes, fragments, and messages of these pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{Routes: s.routes(), Fragments: s.fragments(), Done: actionMessages}
}
