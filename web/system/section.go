// Package system has the pages about the installation: health, storage, background jobs,
// the daemon's log, and the configuration in force.
package system

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are what these pages need of the server.
type Ports struct {
	System   System   // nil: there are no such pages
	Settings Settings // nil: the configuration is not shown
	Crew     Crew     // nil: there are no providers and tools
}

// System looks after the installation as a whole.
type System interface {
	// Installation says how the daemon and its data are.
	Installation(ctx context.Context) (domain.Installation, error)
	// Vitals is how the daemon does now and did over the last day.
	Vitals(ctx context.Context) (domain.Vitals, error)
	// Log is the newest lines of the daemon's log, newest first, of a level or worse
	// (empty: all) that hold a text (empty: any).
	Log(ctx context.Context, level, text string) ([]domain.DaemonLog, error)
	// Notices are what every page says now; they are cheap.
	Notices(ctx context.Context) []domain.Notice
	// Retention is what is removed by itself, and when.
	Retention() domain.Retention
	// ReleaseHeld ends a hold and lets all held runs go on, or only those of a
	// plan; CodeConflict when nothing is held.
	ReleaseHeld(ctx context.Context, actor domain.Actor, plan, reason string) (int, error)
	// Maintain lets no step start any more, or lets them start again; CodeConflict
	// when that is so already.
	Maintain(ctx context.Context, actor domain.Actor, on bool, reason string) (*domain.Maintenance, error)
	// BackUp makes a verified backup in the configured directory.
	BackUp(ctx context.Context, actor domain.Actor) (domain.Backup, error)
}

// Settings is what the configuration says.
type Settings interface {
	Settings(ctx context.Context) (domain.Settings, error)
	// Retain removes what retention says, or only says what it would remove.
	Retain(ctx context.Context, actor domain.Actor, reason string, dryRun bool) (domain.Retained, error)
}

// Crew lists providers of models, and tools.
type Crew interface {
	Providers(ctx context.Context) ([]domain.ProviderInfo, error)
	Tools(ctx context.Context) ([]domain.ToolInfo, error)
}

type section struct{ Ports }

// Section returns the pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{Routes: s.routes(), Done: done}
}
