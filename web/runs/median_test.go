package runs_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

// A run that took much longer than the last runs of its plan is highlighted. A plan with too few
// runs has no median.
func TestADurationIsComparedWithTheMedianOfItsPlan(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: nap\nnodes:\n  sleep: {type: wait, input: {for: \"${input.for}\"}}\n")
	for _, d := range []string{"1ms", "1ms", "1ms", "1s"} {
		site.Run(t, "nap", `{"for": "`+d+`"}`)
	}
	b := site.Browser(t).Login()
	p := b.Get("/runs?q=plan:nap")
	webtest.Has(t, p, "the list", "× median</span>", "Median of the plan: ")
	if n := strings.Count(p.Body, `class="slow need"`); n != 1 {
		t.Errorf("%d runs are marked as slow, want only the one of one second", n)
	}
	site.Plan(t, "id: rare\nnodes:\n  a: {type: set, input: 1}\n")
	site.Run(t, "rare", `null`)
	if p := b.Get("/runs?q=plan:rare"); strings.Contains(p.Body, `class="typical"`) {
		t.Error("a plan that ran once has a median")
	}
}

// Each term of a filter is a chip that links to the list without the term.
func TestTermsOfTheFilterAreRemovedByTheirChips(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Seed(t)
	b := site.Browser(t).Login()
	p := b.Get("/runs?q=" + url.QueryEscape(`status:failed plan:ledger label.env=test`))
	for _, rest := range []string{"plan:ledger label.env=test", "status:failed label.env=test", "status:failed plan:ledger"} {
		webtest.Has(t, p, "the list", `class="chip on" href="/runs?q=`+url.QueryEscape(rest)+`"`)
	}
	webtest.Has(t, b.Get("/runs?q="), "the menu of plans", `href="/runs?q=plan%3Arefund"`, `href="/runs?q=label.env%3Dtest"`)
}
