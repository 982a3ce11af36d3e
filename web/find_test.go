package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// A jump leads to what one thing is called; of several, the reader chooses.
func TestAJumpFindsWhatIsCalledSo(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	for q, to := range map[string]string{
		domain.ShortID(seed.Failed.ID): "/runs/" + seed.Failed.ID, "ledger": "/plans/ledger", "accountant": "/agents/agents/accountant",
		"ledg": "/plans/ledger", "squar": "/runs?q=" + url.QueryEscape("plan:report step:square"), "crm.f": "/agents/tools/crm.find", "": "/runs",
	} {
		if p := b.Get("/find?q=" + url.QueryEscape(q)); p.Code != http.StatusSeeOther || p.Location != to {
			t.Errorf("%q leads to %d %s, want %s", q, p.Code, p.Location, to)
		}
	}
	says(t, b.Get("/find?q=re"), http.StatusOK, `href="/plans/report"`, `href="/plans/refund"`, "Runs whose headline says re")
	says(t, b.Get("/find?q="+url.QueryEscape("no such <thing>")), http.StatusOK, "No run, plan, step, agent, tool or provider is called that.", "no such &lt;thing&gt;")
}

// A value that nothing has is a mistake, and the nearest that there is is named.
func TestAFilterKnowsItsValues(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	code := seed.Failed.Error.Code
	for q, want := range map[string]string{
		"plan:legder": "Did you mean plan:ledger?", "error:" + code + "x": "Did you mean error:" + code + "?", "tool:htp": "Did you mean tool:http?",
		"agent:dsek": "Did you mean agent:desk?", "-plan:repot": "Did you mean plan:report?", "has:frok": "Did you mean has:fork?", "stats:failed": "Did you mean status:failed?",
	} {
		p := b.Get("/runs?q=" + url.QueryEscape(q))
		if p.Code != http.StatusBadRequest || !strings.Contains(p.Body, want) || !strings.Contains(p.Body, `id="list"`) {
			t.Errorf("%s: %d, not %q", q, p.Code, want)
		}
	}
	// What is configured is known before anything used it.
	says(t, b.Get("/runs?q=agent:accountant"), http.StatusOK, "No run matches.")
	says(t, b.Get("/runs/suggest?q=error:"), http.StatusOK, code, "1 run needs attention")
}

// What a cell says narrows the list; a range of one's own, and the view that the
// list opens with, are addresses.
func TestCellsRangesAndTheDefaultView(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	p := b.Get("/runs?q=plan:ledger")
	for _, q := range []string{"plan:ledger status:failed", "plan:ledger v:1", "plan:ledger error:" + seed.Failed.Error.Code, "plan:ledger step:post"} {
		if !strings.Contains(p.Body, `href="/runs?q=`+url.QueryEscape(q)+`"`) {
			t.Errorf("no cell leads to %s", q)
		}
	}
	p = b.Get("/runs?q=plan:ledger+since:7d&from=2030-01-31T08:00&to=")
	if want := "/runs?q=" + url.QueryEscape("plan:ledger since:2030-01-31T08:00Z"); p.Location != want {
		t.Fatalf("%d %s, want %s", p.Code, p.Location, want)
	}
	says(t, b.Get(p.Location), http.StatusOK, "by their end; what is not over, by its start", `value="2030-01-31T08:00"`, "<b>Custom</b>")
	says(t, b.Get("/runs?from=soon"), http.StatusUnprocessableEntity)
	f := form(t, b.Get("/runs?q=plan:ledger").Body, "/views/default")
	if p := b.Post("/views/default", f); p.Location != "/runs?q=plan%3Aledger" {
		t.Fatalf("%d %s", p.Code, p.Location)
	}
	if p := b.Get("/runs"); p.Location != "/runs?q=plan%3Aledger" {
		t.Errorf("the list opens with %d %s", p.Code, p.Location)
	}
	says(t, b.Get("/runs?q="), http.StatusOK, "report")
	f = form(t, b.Get("/runs?q=plan:ledger").Body, "/views/default")
	f.Set("remove", "1")
	b.Post("/views/default", f)
	says(t, b.Get("/runs"), http.StatusOK, "report")
}
