package home

import (
	"net/http"

	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/approval"
	"github.com/kairosd/kairosd/web/part/steps"
	"github.com/kairosd/kairosd/web/ui"
)

// newRuns is the number of runs below which home still shows the getting-started steps first.
const newRuns = 10

// home serves the first page. Its sections are read and refreshed separately.
func (s *section) home(c *ui.Context) error {
	p := HomePage{Shell: c.Shell("home", "Home")}
	p.Live = true
	counts, err := s.Reader.RunCounts(c)
	if err != nil {
		return err
	}
	if p.Steps, err = steps.Of(c); err != nil {
		return err
	}
	if p.Confirmation, err = s.Cards.Confirmation(c); err != nil {
		return err
	}
	if p.Confirmation != nil {
		p.Done = ""
	}
	p.Once = []kit.Once{{ID: approval.AnswersForm, Action: "/", Idem: kit.NewID()}}
	p.New = counts.Total < newRuns
	if p.Empty = counts.Total == 0; !p.Empty {
		s.readSections(c, &p)
	} else if p.Steps != nil {
		p.Steps.Lead = true
	}
	return c.Render(http.StatusOK, Home(p))
}
