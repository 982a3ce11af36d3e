package plans_test

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/webtest"
)

// The plan list shows the recent results of each plan. Archived plans have a separate list. The
// page of a plan links to the plans that run it.
func TestPlansShowHowTheyDo(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Seed(t)
	site.Plan(t, "id: nightly\nnodes:\n  all: {type: plan, plan: report}\n")
	b := site.Browser(t).Login()
	p := b.Get("/plans")
	for _, want := range []string{"Of the last 1 runs of ledger, 1 failed", "Of the last 1 runs of report, 0 failed", "100%",
		"of 1 run", "never ran", `fill="url(#hatch)"`, "status%3Afailed+since%3A7d+plan%3Aledger"} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("the list does not show %q", want)
		}
	}
	if p := b.Get("/plans/report"); !strings.Contains(p.Body, "Used by:") || !strings.Contains(p.Body, `href="/plans/nightly"`) {
		t.Error("the plan does not name the plan that uses it")
	}
	form := b.Get("/plans/echo/archive").Hidden()
	form.Set("reason", "not needed")
	if p := b.Post("/plans/echo/archive", form); p.Location != "/plans/echo" {
		t.Fatal(p.Code)
	}
	if p := b.Get("/plans"); strings.Contains(p.Body, `href="/plans/echo"`) {
		t.Error("an archived plan is in the list")
	}
	if p := b.Get("/plans?state=archived"); !strings.Contains(p.Body, `href="/plans/echo"`) ||
		strings.Contains(p.Body, `href="/plans/ledger"`) {
		t.Error("the archived plans are not listed")
	}
	if p := b.Get("/plans/echo"); !strings.Contains(p.Body, "This plan is archived. No new runs start.") {
		t.Error("an archived plan is not marked")
	}
}

// A user starts a run from the plan list, of any version, or with the input of another run. An
// invalid form keeps the typed values.
func TestARunIsStartedByForm(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	site.Plan(t, "id: report\nname: Report\nnodes:\n  only: {type: set, input: 2}\n")
	b := site.Browser(t).Login()
	if p := b.Get("/runs/new?q=led"); !strings.Contains(p.Body, `href="/runs/new?plan=ledger"`) || strings.Contains(p.Body, "plan=refund") {
		t.Error("no plan to choose")
	}
	p := b.Get("/runs/new?like=" + seed.Failed.ID)
	for _, want := range []string{"&#34;amount&#34;: 50", `value="env=test"`, "With the input of run", "--plan ledger@", "/api/v1/runs"} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("the form does not say %q", want)
		}
	}
	form := b.Get("/runs/new?plan=report&v=1").Hidden()
	form.Set("labels", "env=prod odd")
	form.Set("priority", "7")
	if p := b.Post("/plans/report/start", form); p.Code != http.StatusUnprocessableEntity ||
		!strings.Contains(p.Body, "is not key=value") ||
		!strings.Contains(p.Body, `value="env=prod odd"`) ||
		!strings.Contains(p.Body, `value="7"`) {
		t.Errorf("a wrong label: got status %d, want %d", p.Code, http.StatusUnprocessableEntity)
	}
	form.Set("labels", "env=prod")
	p = b.Post("/plans/report/start", form)
	if p.Code != http.StatusSeeOther {
		t.Fatalf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, p.Body)
	}
	run, err := site.Engine.Wait(t.Context(), strings.TrimPrefix(p.Location, "/runs/"))
	if err != nil || run.Version != 1 || run.Priority != 7 || run.Labels["env"] != "prod" {
		t.Errorf("%+v %v", run, err)
	}
}

// Every example on the help page is a valid query, and every query key has an example.
func TestHelpIsTrue(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	help := b.Get("/help").Body
	for _, key := range filter.Keys {
		if !strings.Contains(help, ">"+key+":</td>") {
			t.Errorf("the help page lacks %s:", key)
		}
	}
	for _, m := range regexp.MustCompile(`href="(/runs\?q=[^"]+)"`).FindAllStringSubmatch(help, -1) {
		if p := b.Get(html.UnescapeString(m[1])); p.Code != http.StatusOK {
			t.Errorf("%s: got status %d, want %d", m[1], p.Code, http.StatusOK)
		}
	}
}
