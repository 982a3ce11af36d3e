package web_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

// The list of plans says how each is doing; archived ones have a list of their
// own, and a plan says what runs it.
func TestPlansSayHowTheyDo(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Seed(t)
	site.Plan(t, "id: nightly\nnodes:\n  all: {type: plan, plan: report}\n")
	b := site.Browser(t).Login()
	p := b.Get("/plans")
	for _, want := range []string{"Of the last 1 runs of ledger, 1 failed", "Of the last 1 runs of report, 0 failed", "100 %", "of 1 run in 7 days", "never ran", `fill="url(#hatch)"`, "status%3Afailed+since%3A7d+plan%3Aledger"} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("the list does not say %q", want)
		}
	}
	if p := b.Get("/plans/report"); !strings.Contains(p.Body, "Run as a part of:") || !strings.Contains(p.Body, `href="/plans/nightly"`) {
		t.Error("the plan does not say what runs it")
	}
	form := b.Get("/plans/echo/archive").Hidden()
	form.Set("reason", "not needed")
	if p := b.Post("/plans/echo/archive", form); p.Location != "/plans/echo" {
		t.Fatal(p.Code)
	}
	if p := b.Get("/plans"); strings.Contains(p.Body, `href="/plans/echo"`) {
		t.Error("an archived plan is in the list")
	}
	if p := b.Get("/plans?state=archived"); !strings.Contains(p.Body, `href="/plans/echo"`) || strings.Contains(p.Body, `href="/plans/ledger"`) {
		t.Error("the archived plans are not listed")
	}
	if p := b.Get("/plans/echo"); !strings.Contains(p.Body, "no new run of it starts") {
		t.Error("an archived plan does not say that it is")
	}
}
