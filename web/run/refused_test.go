package run_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// A run that failed at the condition of its first step shows that step as failed, with the reason.
// A resume would fail again, so the page offers a rerun and a fork instead.
func TestAFailureBeforeTheFirstStep(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: gated\nnodes:\n  first: {type: set, input: 1, when: \"expr: input.n > 1\"}\n"+
		"  second: {type: set, input: 2, needs: [first]}\n")
	run := site.Run(t, "gated", `{}`)
	if run.Status != domain.RunFailed {
		t.Fatalf("the run is %s", run.Status)
	}
	b := site.Browser(t).Login()
	page := b.Get("/runs/" + run.ID)
	webtest.HasTexts(t, page, http.StatusOK, "Resume does not help", "A resume would fail the same way. Fork the run",
		`<tr class="sel bad">`, "1 failed", "1 not started", "It failed before it started.", `the input has no field &#34;n&#34;`)
	webtest.HasTexts(t, b.Get("/runs/"+run.ID+"?view=graph"), http.StatusOK, `aria-label="first failed"`)
	shown, _ := buttons(t, page.Body, "act")
	if want := []string{"Rerun…", "Fork…", "More actions"}; !slices.Equal(shown, want) {
		t.Errorf("offered: %q, want %q", shown, want)
	}
	refused := b.Get("/runs/" + run.ID + "/resume")
	webtest.HasTexts(t, refused, http.StatusOK, "A resume would fail the same way", "/runs/"+run.ID+"/fork", "/runs/"+run.ID+"/rerun")
	form := b.Get("/runs/" + run.ID + "/rerun").Hidden()
	form.Set("do", "act")
	form.Set("input", `{"n": 2}`)
	again := b.Post("/runs/"+run.ID+"/rerun", form)
	r, err := site.Engine.Wait(t.Context(), strings.TrimPrefix(again.Location, "/runs/"))
	if err != nil || r.Status != domain.RunCompleted {
		t.Errorf("the new run is %s, %v", r.Status, err)
	}
}

// A run that failed at a decision after a step can be forked, because the output of the step can be
// edited.
func TestAFailureAtADecisionIsForked(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: branch\nnodes:\n  ask: {type: set, input: {}}\n  go: {type: set, input: 1}\n"+
		"edges: [{from: ask, to: go, condition: \"expr: output.ask.n > 1\"}]\n")
	run := site.Run(t, "branch", `null`)
	page := site.Browser(t).Login().Get("/runs/" + run.ID)
	webtest.HasTexts(t, page, http.StatusOK, "Resume does not help")
	shown, _ := buttons(t, page.Body, "act")
	if want := []string{"Fork…", "Rerun…", "More actions"}; !slices.Equal(shown, want) {
		t.Errorf("offered: %q, want %q", shown, want)
	}
}
