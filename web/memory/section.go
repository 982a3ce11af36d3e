// Package memory serves the pages about the memory of sessions.
package memory

import (
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are the dependencies of these pages.
type Ports struct{ App *app.App }

type section struct{ Ports }

// Section returns the routes and messages of these pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{Routes: s.routes(), Done: actionMessages}
}
