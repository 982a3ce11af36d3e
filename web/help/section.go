// Package help has the page of words, filters, states, and shortcuts.
package help

import (
	"net/http"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are what this page needs of other sections: the terms of their filters.
type Ports struct{ Runs, Audit []kit.FilterTerm }

type section struct{ Ports }

// Section returns the page.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{Routes: []ui.Route{
		{Get: "/help", Operation: app.GetVersion, Handle: s.page},
		{Get: "/help/shortcuts", Operation: app.GetVersion, Handle: ui.See("/help#shortcuts")},
	}}
}

func (s *section) page(c *ui.Context) error {
	return c.Render(http.StatusOK, help(page{Shell: c.Shell("", "Help"), Runs: s.Runs, Audit: s.Audit}))
}
