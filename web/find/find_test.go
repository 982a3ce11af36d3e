package find_test

import (
	"net/http"
	"net/url"
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
	webtest.Says(t, b.Get("/find?q=re"), http.StatusOK, `href="/plans/report"`, `href="/plans/refund"`, "Runs whose status message contains re")
	webtest.Says(
		t,
		b.Get("/find?q="+url.QueryEscape("no such <thing>")),
		http.StatusOK,
		"No run, plan, step, agent, tool or provider is called that.",
		"no such &lt;thing&gt;",
	)
}
