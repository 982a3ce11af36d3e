package home

import (
	"net/http"

	"github.com/kairosd/kairosd/web/ui"
)

// home answers in five seconds: is anything wrong, what needs me, what runs. It
// is made of bands that are read and refreshed separately.
func (s *section) home(c *ui.Context) error {
	p := HomePage{Shell: c.Shell("home", "Home")}
	p.Live = true
	counts, err := s.Reader.RunCounts(c)
	if err != nil {
		return err
	}
	if p.Empty = counts.Total == 0; p.Empty {
		p.Steps = firstSteps(c)
	} else {
		s.bands(c, &p)
	}
	return c.Render(http.StatusOK, Home(p))
}

// firstSteps are the commands by which a first plan is stored and run.
func firstSteps(c *ui.Context) []FirstStep {
	scheme := "http"
	if c.Site.Secure(c.Echo.Request()) {
		scheme = "https"
	}
	api := scheme + "://" + c.Echo.Request().Host + "/api/v1"
	return []FirstStep{
		{
			Text: c.T("Write a plan into a file, plan.yaml:"),
			Code: "id: hello\nnodes:\n  greet: {type: set, input: {text: \"hello, ${input.name}\"}}\n",
		},
		{
			Text: c.T("Store it. The token comes from Settings, or from kairosd token create:"),
			Code: "curl -H \"Authorization: Bearer $KAIROS_TOKEN\" -H \"Content-Type: application/yaml\" \\\n  --data-binary @plan.yaml " + api + "/plans",
		},
		{
			Text: c.T("Start a run. This page then shows it:"),
			Code: "curl -H \"Authorization: Bearer $KAIROS_TOKEN\" -H \"Content-Type: application/json\" \\\n  -d '{\"plan\": \"hello\", \"input\": {\"name\": \"marta\"}}' " + api + "/runs",
		},
	}
}
