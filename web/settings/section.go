// Package settings has the pages of the settings: access, notifications, retention, and
// secrets. Users, roles, and tokens are in package account.
package settings

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are what these pages need of the server.
type Ports struct {
	Settings Settings // nil: settings are not shown
}

// Settings is what the configuration says, and what can be tried of it. Values
// are changed in the configuration file: a page never holds a secret.
type Settings interface {
	Settings(ctx context.Context) (domain.Settings, error)
	// Retain removes what retention says, or only says what it would remove; why goes
	// to the audit log.
	Retain(ctx context.Context, actor domain.Actor, reason string, dryRun bool) (domain.Retained, error)
	// TestChannel sends a message at once, and gives what came of it;
	// CodeNotFound, CodeForbidden.
	TestChannel(ctx context.Context, actor domain.Actor, channel string) (domain.Delivery, error)
	// RotateSecret takes up what a secret's file holds now; CodeNotFound,
	// CodeConflict if nothing new is there, CodeForbidden.
	RotateSecret(ctx context.Context, actor domain.Actor, name, reason string) error
}

type section struct{ Ports }

// Section returns the pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{Routes: s.routes(), Done: done}
}
