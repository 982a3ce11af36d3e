package web

import (
	"net/http"

	"github.com/kairosd/kairosd/web/view"
)

// home answers in five seconds: is anything wrong, what needs me, what runs. It
// is made of bands that are read and refreshed each by itself.
func (r *request) home() error {
	if b, ok := bandOf(r.target()); ok {
		return r.refreshBand(b)
	}
	p := view.HomePage{Shell: r.shell("home", "Home")}
	p.Live = true
	counts, err := r.s.Reader.RunCounts(r.ctx)
	if err != nil {
		return err
	}
	if r.target() == "first" { // the first steps, asked again
		if counts.Total > 0 {
			r.c.Response().Header().Set("HX-Refresh", "true")
		}
		return r.c.NoContent(http.StatusNoContent)
	}
	if p.Empty = counts.Total == 0; p.Empty {
		p.Steps = r.firstSteps()
	} else {
		p.Bands = r.bands()
		p.Once = []view.Once{{ID: "once-ack", Action: "/failures/ack?all=1", Idem: newID()}}
	}
	return r.render(http.StatusOK, view.Home(p))
}

// firstSteps are the commands by which a first plan is stored and run.
func (r *request) firstSteps() []view.FirstStep {
	scheme := "http"
	if r.s.secure(r.c.Request()) {
		scheme = "https"
	}
	api := scheme + "://" + r.c.Request().Host + "/api/v1"
	return []view.FirstStep{
		{Text: r.t("Write a plan into a file, plan.yaml:"), Code: "id: hello\nnodes:\n  greet: {type: set, input: {text: \"hello, ${input.name}\"}}\n"},
		{Text: r.t("Store it. The token comes from Settings, or from kairosd token create:"), Code: "curl -H \"Authorization: Bearer $KAIROS_TOKEN\" -H \"Content-Type: application/yaml\" \\\n  --data-binary @plan.yaml " + api + "/plans"},
		{Text: r.t("Start a run. This page then shows it:"), Code: "curl -H \"Authorization: Bearer $KAIROS_TOKEN\" -H \"Content-Type: application/json\" \\\n  -d '{\"plan\": \"hello\", \"input\": {\"name\": \"marta\"}}' " + api + "/runs"},
	}
}
