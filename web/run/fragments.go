package run

import (
	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/ui"
)

// The parts of a run's page that follow events.
const (
	HeadPart    = "head"
	ViewPart    = "view"
	StepLogPart = "steplog"
)

// fragments are these parts, each with no more than it shows.
func (s *section) fragments() []ui.Fragment {
	of := func(id string, build func(*page) (templ.Component, error)) ui.Fragment {
		return ui.Fragment{Page: "/runs/:run", ID: id, Operation: app.GetRun, Topics: []string{"run-:run"}, Build: func(c *ui.Context) (templ.Component, error) {
			b, err := (&request{c, s}).openRun(c.Param("run"))
			if err != nil {
				return nil, err
			}
			return build(b)
		}}
	}
	return []ui.Fragment{of(HeadPart, headFragment), of(ViewPart, viewFragment), of(StepLogPart, stepLogFragment)}
}

func headFragment(b *page) (templ.Component, error) {
	p := b.begin()
	err := b.head(&p)
	return RunHead(p), err
}

func viewFragment(b *page) (templ.Component, error) {
	p := b.begin()
	b.views(&p)
	switch b.view {
	case "state", "io": // their values are not live
	default:
		if err := b.content(&p); err != nil {
			return nil, err
		}
	}
	return RunViewAlong(p), nil
}

// stepLogFragment is the log of the chosen step; nil: it has none any more.
func stepLogFragment(b *page) (templ.Component, error) {
	p := b.begin()
	b.beside(&p)
	if p.Inspector == nil || p.Inspector.Log == nil {
		return nil, nil
	}
	return StepLogView(*p.Inspector.Log), nil
}
