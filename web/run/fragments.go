package run

import (
	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/run/log"
	"github.com/kairosd/kairosd/web/run/record"
	"github.com/kairosd/kairosd/web/ui"
)

// fragments returns the live regions of the page. Each builds only what it shows.
func (s *section) fragments() []ui.Fragment {
	of := func(id string, build func(*page) (templ.Component, error)) ui.Fragment {
		return ui.Fragment{
			Page:      "/runs/:run",
			ID:        id,
			Operation: app.GetRun,
			Topics:    []string{"run-:run"},
			Build: func(c *ui.Context) (templ.Component, error) {
				b, err := (&record.Request{Context: c, Ports: &s.Ports}).Open(c.Param("run"))
				if err != nil {
					return nil, err
				}
				return build(newPage(b))
			},
		}
	}
	return []ui.Fragment{of("head", headFragment), of("view", viewFragment), of("steplog", stepLogFragment)}
}

func headFragment(b *page) (templ.Component, error) {
	top, err := newHead(b.Record)
	if err != nil {
		return nil, err
	}
	h, err := top.build()
	return RunHead(h), err
}

// viewFragment returns the view, with the tabs and their counts, and the graph above a timeline.
func viewFragment(b *page) (templ.Component, error) {
	v, err := b.shown()
	return RunViewAlong(v, b.tabs()), err
}

// stepLogFragment returns the log of the selected step, or nil if it has none.
func stepLogFragment(b *page) (templ.Component, error) {
	i := b.beside()
	if i == nil || i.Log == nil {
		return nil, nil
	}
	return log.StepLogView(*i.Log), nil
}
