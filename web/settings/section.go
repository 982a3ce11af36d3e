// Package settings serves the settings pages: access, notifications, retention, and secrets. Users,
// roles, and tokens are in package account.
package settings

import (
	"context"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are the dependencies of these pages.
type Ports struct {
	App      *app.App
	Settings Settings // nil disables these pages
}

// Settings provides the active configuration without values of secrets. Settings are changed in the
// configuration file, not by these pages.
type Settings interface {
	Settings(ctx context.Context) (domain.Settings, error)
}

type section struct{ Ports }

// Section returns the routes and messages of these pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{Routes: s.routes(), Done: actionMessages}
}
