package find_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// The jump box opens the object with a name. If several match, the reader chooses.
func TestAJumpFindsWhatIsCalledSo(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	for q, to := range map[string]string{
		domain.ShortID(seed.Failed.ID): "/runs/" + seed.Failed.ID, "ledger": "/plans/ledger", "accountant": "/agents/agents/accountant",
		"ledg": "/plans/ledger", "squar": "/runs?q=" + url.QueryEscape("plan:report step:square"), "crm.f": "/agents/tools/crm.find",
	} {
		if p := b.Get("/find?q=" + url.QueryEscape(q)); p.Code != http.StatusSeeOther || p.Location != to {
			t.Errorf("%q: got status %d and Location %s, want %s", q, p.Code, p.Location, to)
		}
	}
	webtest.HasTexts(t, b.Get("/find?q=re"), http.StatusOK, `href="/plans/report"`, `href="/plans/refund"`,
		"Runs whose status message contains re")
	webtest.HasTexts(
		t,
		b.Get("/find?q="+url.QueryEscape("no such <thing>")),
		http.StatusOK,
		"No run, plan, step, agent, tool or provider is called that.",
		"no such &lt;thing&gt;",
	)
}

// The jump box suggests actions before objects. Each links to a preview, and actions that the
// reader may not use are omitted.
func TestTheJumpBoxSuggestsActions(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	suggested := func(b *webtest.Browser, q string) string {
		t.Helper()
		return b.Get("/find/suggest?q=" + url.QueryEscape(q)).Body
	}
	for q, want := range map[string]string{
		"resume":      "/runs/" + seed.Failed.ID + "/resume",
		"resume ledg": "/runs/" + seed.Failed.ID + "/resume",
		"rerun " + domain.ShortID(seed.Failed.ID): "/runs/" + seed.Failed.ID + "/rerun",
		"cancel refund":  "/runs/" + seed.Waiting.ID + "/cancel",
		"pause plan led": "/plans/ledger/pause",
		"start rep":      "/plans/report/start",
		"new pl":         "/plans/new",
		"backup":         "/system/storage#backups",
		"":               "/runs/" + seed.Hostile.ID,
		"squar":          "/runs?q=plan%3Areport+step%3Asquare",
	} {
		if got := suggested(b, q); !strings.Contains(got, `data-href="`+want+`"`) {
			t.Errorf("%q: %s is not suggested:\n%s", q, want, webtest.Text(got))
		}
	}
	// A suggested run has the icon and color of its status.
	if got := suggested(b, "resume ledg"); !strings.Contains(got, `<span class="st fail">`) {
		t.Errorf("the status of a failed run is not shown:\n%s", got)
	}
	if got := suggested(b, "resume report"); strings.Contains(got, "/resume") {
		t.Error("a completed run can be resumed")
	}
	if _, err := site.Auth.CreateUser(t.Context(), site.Admin, "vera", webtest.Password, domain.RoleViewer); err != nil {
		t.Fatal(err)
	}
	vera := site.Browser(t)
	vera.LoginAs("vera", webtest.Password)
	if got := suggested(vera, "resume"); strings.Contains(got, "/resume") {
		t.Error("the Resume action is visible to a viewer")
	}
	webtest.Has(t, b.Get("/find"), "the page", "Newest runs", `href="/plans/new"`, `<form class="filters" action="/find"`)
	webtest.Has(t, b.Get("/find?q=resume"), "the page", `href="/runs/`+seed.Failed.ID+`/resume"`)
}
