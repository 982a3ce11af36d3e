package web

import (
	"time"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/approval"
)

// Short names for functions of kit and ui, for pages that have no package of their own.

func formatDuration(d time.Duration) string { return kit.Duration(d) }
func plural(n int, one, many string) string { return kit.Plural(n, one, many) }
func newID() string                         { return kit.NewID() }

func (r *request) t(text string, args ...any) string           { return r.T(text, args...) }
func (r *request) htmx() bool                                  { return r.HTMX() }
func (r *request) target() string                              { return r.Target() }
func (r *request) shell(section, title string) kit.Shell       { return r.Shell(section, title) }
func (r *request) render(code int, page templ.Component) error { return r.Render(code, page) }
func (r *request) setDisplay() error                           { return r.SetDisplay() }

// cards returns the dependencies of approval cards.
func (s *Server) cards() approval.Ports {
	return approval.Ports{Predictions: s.Engine, TwoPeople: s.TwoPeople, People: s.People}
}
