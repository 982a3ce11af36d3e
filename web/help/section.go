// Package help serves the page about terms, filters, states, and keyboard shortcuts.
package help

import (
	"net/http"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are the filter terms of other sections.
type Ports struct{ Runs, Audit []kit.FilterTerm }

type section struct{ Ports }

// Section returns the routes of this page.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{Routes: []ui.Route{
		{Get: "/help", Operation: app.GetVersion, Handle: s.page},
		{Get: "/help/shortcuts", Operation: app.GetVersion, Handle: ui.RedirectTo("/help#shortcuts")},
	}}
}

func (s *section) page(c *ui.Context) error {
	return c.Render(http.StatusOK, help(page{Shell: c.Shell("", "Help"), Runs: s.Runs, Audit: s.Audit}))
}
