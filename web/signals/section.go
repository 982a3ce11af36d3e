// Package signals serves the pages of signals, the named events that end the waits of steps, and of the
// steps that wait for one.
package signals

import (
	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are the services of the server that these pages use.
type Ports struct{ App *app.App }

type section struct{ Ports }

// Section returns the pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{
		Fragments: []ui.Fragment{
			{Page: "/events/signals", ID: "signals", Operation: app.ListSignals, Topics: []string{"runs"},
				Build: func(c *ui.Context) (templ.Component, error) {
					p, err := s.listPage(c)
					return signals(p), err
				}},
			{Page: "/events/signals/:signal", ID: "signal", Operation: app.GetSignal, Topics: []string{"runs"},
				Build: func(c *ui.Context) (templ.Component, error) {
					p, err := s.signalPage(c)
					return signalState(p), err
				}},
			{Page: "/events/waits", ID: "waits", Operation: app.ListSignalWaits, Topics: []string{"runs"},
				Build: func(c *ui.Context) (templ.Component, error) {
					p, err := s.waitsPage(c)
					return waits(p), err
				}},
		},
		Routes: []ui.Route{
			{Get: "/events/signals", Operation: app.ListSignals, Handle: s.list},
			{Get: "/events/signals/new", Operation: app.SendSignal, Handle: s.newPage},
			{Post: "/events/signals/new", Operation: app.SendSignal, Handle: s.send},
			{Get: "/events/signals/:signal", Operation: app.GetSignal, Handle: s.signal},
			{Get: "/events/waits", Operation: app.ListSignalWaits, Handle: s.waits},
		},
		Done: []ui.Done{
			{Name: "signal-sent", Path: "/events/signals/new", Message: locale.Mark("Signal sent.")},
		},
	}
}
