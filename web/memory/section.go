// Package memory has the pages about what sessions of agents remember.
package memory

import (
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are what these pages need of the server.
type Ports struct{ App *app.App }

type section struct{ Ports }

// Section returns the pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{Routes: s.routes(), Done: done}
}
