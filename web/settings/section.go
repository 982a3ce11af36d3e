// Package settings has the pages of the settings: access, notifications, retention, and
// secrets. Users, roles, and tokens are in package account.
package settings

import (
	"context"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are what these pages need of the server.
type Ports struct {
	App      *app.App
	Settings Settings // nil: settings are not shown
}

// Settings is the configuration, and what can be tested of it. Values
// are changed in the configuration file: a page never holds a secret.
type Settings interface {
	Settings(ctx context.Context) (domain.Settings, error)
}

type section struct{ Ports }

// Section returns the pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{Routes: s.routes(), Done: done}
}
