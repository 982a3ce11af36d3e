// Package memory has the pages about what sessions of agents remember.
package memory

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are what these pages need of the server.
type Ports struct {
	Memory Sessions // nil: there are no such pages
}

// Sessions is what sessions remember, by who started their runs.
type Sessions interface {
	// MemorySessions lists an owner's sessions that remember something, by name.
	MemorySessions(ctx context.Context, owner string, p domain.Page) (domain.List[domain.MemorySession], error)
	// Memories lists what a session remembers, newest first.
	Memories(ctx context.Context, owner, session string, p domain.Page) (domain.List[domain.Memory], error)
	// Forget removes what a session remembers; CodeNotFound if that is nothing.
	Forget(ctx context.Context, owner, session, reason string, actor domain.Actor) (int64, error)
}

type section struct{ Ports }

// Section returns the pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{Routes: s.routes(), Done: done}
}
