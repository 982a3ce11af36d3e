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
	for _, want := range []string{"Nothing of it has run.", "complex: it needs several steps", "1 step cannot be repeated", "step-2", "unsafe", "2,000 ms", "skills match what is asked", "notify &lt;everybody&gt;", "Accept and start",
		"the request says: notify", "the request says: collect", "sum of step-1 is 42: nobody said otherwise", "Accept as v1", "Start a dry run", "Discard the draft"} {
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
	if strings.Contains(second.Body, `<td class="m">step-2</td>`) || strings.Contains(second.Body, "cannot be repeated") {
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

// A draft is tried, taken into use without being started, or discarded; a refined
// one says what changed.
func TestADraftIsTriedAcceptedOrDiscarded(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	draft := func(intent string, from ...string) (string, webtest.Page) {
		t.Helper()
		f := form(t, b.Get("/ask").Body, `name="intent"`)
		f.Set("intent", intent)
		for _, hash := range from {
			f.Set("from", hash)
		}
		p := b.Post("/ask", f)
		if p.Code != http.StatusSeeOther {
			t.Fatalf("%d %s", p.Code, words(p.Body))
		}
		return p.Location, b.Get(p.Location)
	}
	at, page := draft("collect the figures and then notify everybody")
	act := func(do string) webtest.Page {
		t.Helper()
		f := form(t, page.Body, "Accept and start")
		f.Set("intent", "collect")
		f.Set("do", do)
		to, _, _ := strings.Cut(at, "?")
		return b.Post(to, f)
	}
	key := strings.Split(at, "/")[2]
	stage := func() (kairos.PlanStage, bool) {
		t.Helper()
		p, err := site.Store.Plan(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return p.Stage, p.Archived
	}
	if !strings.Contains(b.Get("/plans?state=draft").Body, "/ask/"+key) || strings.Contains(b.Get("/plans").Body, key) {
		t.Error("a draft is not among the drafts, or is among the plans in use")
	}
	p := act("try")
	run, err := site.Engine.Wait(t.Context(), strings.TrimPrefix(p.Location, "/runs/"))
	if err != nil || !run.Dry() || run.Status != kairos.RunCompleted || run.Labels["draft"] == "" {
		t.Errorf("tried: %+v %v", run, err)
	}
	if st, _ := stage(); st != kairos.StageDraft {
		t.Error("a draft that was tried is a draft no more")
	}
	hash := form(t, page.Body, "Make another draft").Get("from")
	_, refined := draft("collect the figures", hash)
	has(t, refined, "the refined draft", "Refined from", "1 step removed", `class="node minus`, "What changed in the text")
	if p = act("accept"); p.Location != "/plans/"+key {
		t.Errorf("accepting: %d %s", p.Code, words(p.Body))
	}
	if st, _ := stage(); st != kairos.StageUsed {
		t.Error("an accepted draft is not in use")
	}
	if p = act("accept"); p.Location != "/plans/"+key { // the same form, sent again
		t.Errorf("accepting twice: %d", p.Code)
	}
	page = b.Get(at)
	if strings.Contains(page.Body, "Accept as v1") {
		t.Error("what is in use can be accepted")
	}
	at, page = draft("please collect all figures of today")
	if key = strings.Split(at, "/")[2]; act("discard").Location != "/plans?state=draft" {
		t.Error("discarding does not lead to the drafts")
	}
	if _, archived := stage(); !archived {
		t.Error("a discarded draft is not archived")
	}
	f := form(t, b.Get("/ask").Body, `name="intent"`)
	f.Set("intent", "collect")
	f.Set("max_steps", "many")
	if p = b.Post("/ask", f); p.Code != http.StatusUnprocessableEntity {
		t.Errorf("a bound that is no number: %d", p.Code)
	}
}
