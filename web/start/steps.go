package start

import (
	"net/http"

	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/steps"
	"github.com/kairosd/kairosd/web/ui"
)

// StepsPage is the page of the first steps.
type StepsPage struct {
	kit.Shell
	Card *steps.Card // nil if all steps are done or the reader dismissed them
}

func (s *section) firstSteps(c *ui.Context) error {
	p := StepsPage{Shell: c.Shell("home", "First steps")}
	var err error
	if p.Card, err = steps.Of(c); err != nil {
		return err
	}
	return c.Render(http.StatusOK, Steps(p))
}

func (s *section) dismissSteps(c *ui.Context) error {
	if err := s.App.FirstSteps.Dismiss(c, c.Meta()); err != nil {
		return err
	}
	return c.RedirectTo("/")
}
