// Package system has the pages about the server: health, storage, background jobs, the daemon's log, and the
// active configuration.
package system

import (
	"context"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are what these pages need of the server.
type Ports struct {
	App      *app.App
	System   System   // nil: there are no such pages
	Settings Settings // nil: the configuration is not shown
}

// System operates the server as a whole.
type System interface {
	// Server returns the status of the server and its data.
	Server(ctx context.Context) (domain.Server, error)
	// HealthMetrics is how the daemon does now and did over the last day.
	HealthMetrics(ctx context.Context) (domain.HealthMetrics, error)
	// Log is the newest lines of the daemon's log, newest first, of a level or worse
	// (empty: all) that hold a text (empty: any).
	Log(ctx context.Context, level, text string) ([]domain.DaemonLog, error)
	// Notices are what every page shows now; they are cheap.
	Notices(ctx context.Context) []domain.Notice
	// Retention is what is deleted automatically, and when.
	Retention() domain.Retention
}

// Settings reads the configuration.
type Settings interface {
	Settings(ctx context.Context) (domain.Settings, error)
}

type section struct{ Ports }

// Section returns the pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{Routes: s.routes(), Done: done}
}
