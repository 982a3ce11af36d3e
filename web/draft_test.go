package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/web/webtest"
)

// Draft, refine, accept: nothing runs before a person has accepted exactly what
// they saw.
func TestAPlanFromAnIntentRunsOnlyOnceItIsAccepted(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	f := form(t, b.Get("/ask").Body, `name="intent"`)
	f.Set("intent", "boil an egg and then sing for each guest")
	p := b.Post("/ask", f)
	for _, want := range []string{"There is no plan for this", "POST-PLAN-001", "boil an egg", "Rephrase request"} {
		if p.Code != http.StatusUnprocessableEntity || !strings.Contains(p.Body, want) {
			t.Fatalf("%d, %q is missing:\n%s", p.Code, want, p.Body)
		}
	}
	f = form(t, p.Body, `name="intent"`)
	f.Set("intent", "collect the figures and then notify <everybody>")
	p = b.Post("/ask", f)
	if p.Code != http.StatusSeeOther || !strings.HasPrefix(p.Location, "/ask/plan-") {
		t.Fatalf("%d %s\n%s", p.Code, p.Location, p.Body)
	}
	first := b.Get(p.Location)
	for _, want := range []string{"Nothing of it has run.", "complex: it needs several steps", "1 step cannot be repeated", "step-2", "unsafe", "2,000 ms", "skills match what is asked", "notify &lt;everybody&gt;", "Accept and start"} {
		if !strings.Contains(first.Body, want) {
			t.Errorf("the draft does not say %q:\n%s", want, first.Body)
		}
	}
	// Refined: another draft, and the first one stays.
	f = form(t, first.Body, "Make another draft")
	f.Set("intent", "collect the figures, then stop")
	if p = b.Post("/ask", f); p.Code != http.StatusSeeOther {
		t.Fatalf("%d\n%s", p.Code, p.Body)
	}
	second := b.Get(p.Location)
	if strings.Contains(second.Body, "step-2") || strings.Contains(second.Body, "cannot be repeated") {
		t.Errorf("the refined draft still notifies:\n%s", second.Body)
	}
	// The same again is found, not planned.
	f = form(t, b.Get("/ask").Body, `name="intent"`)
	f.Set("intent", "collect the  figures, then stop")
	if again := b.Post("/ask", f); !strings.Contains(again.Location, "found=1") || !strings.Contains(b.Get(again.Location).Body, "The same was asked before") {
		t.Errorf("%d %s", again.Code, again.Location)
	}
	plans, err := site.Store.Plans(t.Context(), kairos.PlanFilter{})
	if err != nil || len(plans.Items) != 2 {
		t.Errorf("%d plans, %v", len(plans.Items), err)
	}
	if runs, err := site.Store.Runs(t.Context(), kairos.RunFilter{}); err != nil || len(runs.Items) != 0 {
		t.Fatalf("something ran before it was accepted: %+v %v", runs.Items, err)
	}
	f = form(t, second.Body, "Accept and start")
	f.Set("intent", "collect the figures, then stop")
	to, _, _ := strings.Cut(p.Location, "?")
	if p = b.Post(to, f); p.Code != http.StatusSeeOther || !strings.HasPrefix(p.Location, "/runs/") {
		t.Fatalf("%d %s\n%s", p.Code, p.Location, p.Body)
	}
	if again := b.Post(to, f); again.Location != p.Location {
		t.Errorf("the form sent twice starts another run: %s, %s", p.Location, again.Location)
	}
	run, err := site.Engine.Wait(t.Context(), strings.TrimPrefix(p.Location, "/runs/"))
	if err != nil || run.Status != kairos.RunCompleted || run.Origin != "ask" || string(run.Input) != `"collect the figures, then stop"` {
		t.Errorf("%+v %v", run, err)
	}
	v, err := site.Store.VersionByHash(t.Context(), run.Hash)
	if err != nil || v.Origin != "planner" || v.ByPerson || v.Reason == "" {
		t.Errorf("%+v %v", v, err)
	}
}
