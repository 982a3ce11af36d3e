// Package system serves the pages about the server: health, storage, background jobs, the daemon
// log, and the active configuration.
package system

import (
	"context"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are the dependencies of these pages.
type Ports struct {
	App      *app.App
	System   System   // nil disables these pages
	Settings Settings // nil hides the configuration
}

// System operates the server as a whole.
type System interface {
	// Server returns the status of the server and its data.
	Server(ctx context.Context) (domain.Server, error)
	// HealthMetrics returns the current health metrics and the samples of the last 24 hours.
	HealthMetrics(ctx context.Context) (domain.HealthMetrics, error)
	// Log returns the newest lines of the daemon log, newest first. If not empty, level selects
	// lines of a level or above, and text selects lines that contain it.
	Log(ctx context.Context, level, text string) ([]domain.DaemonLog, error)
	// Notices returns the notices shown on every page. It is fast, because every request calls it.
	Notices(ctx context.Context) []domain.Notice
	// Retention returns the retention rules.
	Retention() domain.Retention
}

// Settings provides the active configuration.
type Settings interface {
	Settings(ctx context.Context) (domain.Settings, error)
}

type section struct{ Ports }

// Section returns the routes and messages of these pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{Routes: s.routes(), Done: actionMessages}
}
