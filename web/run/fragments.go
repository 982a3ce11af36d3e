package run

import (
	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/run/log"
	"github.com/kairosd/kairosd/web/run/record"
	"github.com/kairosd/kairosd/web/ui"
)

// fragments are these parts, each with no more than it shows.
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

// viewFragment comes with what else shows the same steps: the tabs, for their counts, and
// the graph below a timeline.
func viewFragment(b *page) (templ.Component, error) {
	v, err := b.shown()
	return RunViewAlong(v, b.tabs()), err
}

// stepLogFragment is the log of the chosen step; nil: it has none any more.
func stepLogFragment(b *page) (templ.Component, error) {
	i := b.beside()
	if i == nil || i.Log == nil {
		return nil, nil
	}
	return log.StepLogView(*i.Log), nil
}
