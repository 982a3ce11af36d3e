package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

func TestStateIsShownAtEveryCheckpoint(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	run := site.Seed(t).Completed
	b := site.Browser(t).Login()
	webtest.HasTexts(
		t,
		b.Get("/runs/"+run.ID+"?view=state"),
		http.StatusOK,
		"cp 0 input",
		"after list",
		"output.square",
		"output.end",
		"Fork from this checkpoint",
	)
	first := b.Get("/runs/" + run.ID + "?view=state&cp=0")
	if strings.Contains(first.Body, "output.list") {
		t.Error("the state before any step has an output")
	}
}

// The comparison of two runs of a plan names the condition at which they diverge.
func TestCompareNamesTheFirstDifference(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	small := site.Run(t, "ledger", `{"amount": 5, "currency": "EUR"}`)
	b := site.Browser(t).Login()
	webtest.HasTexts(
		t,
		b.Get("/runs/compare?a="+seed.Failed.ID+"&b="+small.ID),
		http.StatusOK,
		"They first differ at check: it went to post in one and to done in the other",
		"not there",
		"differs",
	)
	same := b.Get("/runs/compare?a=" + small.ID + "&b=" + small.ID)
	webtest.HasTexts(t, same, http.StatusOK, "No step differs.")
	webtest.HasTexts(t, b.Get("/runs/compare?a="+small.ID+"&b=zzzz"), http.StatusNotFound)
	// The failed run links to the comparison, and shows that other runs failed the same way.
	site.Run(t, "ledger", `{"amount": 60, "currency": "EUR"}`)
	webtest.HasTexts(
		t,
		b.Get("/runs/"+seed.Failed.ID),
		http.StatusOK,
		"2 runs failed like this since",
		"/runs/compare?a="+seed.Failed.ID+"&amp;b="+small.ID,
		`id="summary"`,
	)
}

func TestVersionsAreCompared(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: x\nnodes:\n  a: {type: set, input: 1}\n  b: {type: set, input: 2}\nedges: [{from: a, to: b}]\n")
	site.Plan(t, "id: x\nnodes:\n  a: {type: set, input: 1}\n  b: {type: set, input: 3}\nedges: [{from: a, to: b}]\n")
	b := site.Browser(t).Login()
	webtest.HasTexts(t, b.Get("/plans/x?tab=versions"), http.StatusOK, "/plans/x/diff/1/2")
	webtest.HasTexts(t, b.Get("/plans/x/diff/1/2"), http.StatusOK, "1 lines added, 1 removed", `class="del"`, `class="ins"`)
	webtest.HasTexts(t, b.Get("/plans/x/diff/1/9"), http.StatusNotFound)
}

func TestAPlanIsArchivedWithAReason(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: old\nnodes: {a: {type: set, input: 1}}\n")
	b := site.Browser(t).Login()
	form := b.Get("/plans/old/archive").Hidden()
	webtest.HasTexts(t, b.Post("/plans/old/archive", form), http.StatusUnprocessableEntity, "Enter a reason")
	form.Set("reason", "replaced")
	if p := b.Post("/plans/old/archive", form); p.Code != http.StatusSeeOther {
		t.Fatalf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, p.Body)
	}
	if p := b.Get("/plans"); strings.Contains(p.Body, `href="/plans/old"`) {
		t.Error("an archived plan is listed")
	}
	webtest.HasTexts(t, b.Get("/plans/old"), http.StatusOK, "Unarchive…")
	form = b.Get("/plans/old/archive").Hidden()
	if p := b.Post("/plans/old/archive", form); p.Code != http.StatusSeeOther {
		t.Errorf("restoring the plan: got status %d, want %d: %s", p.Code, http.StatusSeeOther, p.Body)
	}
	webtest.HasTexts(t, b.Get("/plans"), http.StatusOK, `href="/plans/old"`)
	webtest.HasTexts(t, b.Get("/audit?q=action:plan.archive"), http.StatusOK, "replaced")
	webtest.HasTexts(t, b.Get("/audit?q=actor:nobody+since:24h"), http.StatusOK)
	webtest.HasTexts(t, b.Get("/audit?q=since:yesterday"), http.StatusBadRequest)
}

// Display settings work without scripts, and are stored.
func TestDisplayIsChosen(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	run := site.Seed(t).Failed
	b := site.Browser(t).Login()
	form := b.Get("/runs").Hidden()
	for k, v := range map[string]string{"lang": "es", "theme": "dark", "times": "utc", "density": "compact"} {
		f := url.Values{"csrf": form["csrf"], "back": {"/runs"}, k: {v}}
		if p := b.Post("/display", f); p.Code != http.StatusSeeOther || p.Location != "/runs" {
			t.Fatalf("%s: got status %d, want %d: %s", k, p.Code, http.StatusSeeOther, p.Location)
		}
	}
	webtest.HasTexts(
		t,
		b.Get("/runs/"+run.ID),
		http.StatusOK,
		`lang="es"`,
		`data-theme="dark"`,
		`data-density="compact"`,
		"Fallida",
		"Reanudar desde post",
		"paso se ejecuta de nuevo",
	)
	if p := b.Post("/display", url.Values{"csrf": form["csrf"], "back": {"https://evil.example/"}, "lang": {"../x"}}); p.Location != "/" {
		t.Errorf("redirected to %s", p.Location)
	}
	// Another browser with other settings applies the user's settings at login.
	other := site.Browser(t)
	other.Post("/display", url.Values{"csrf": {"anonymous"}, "back": {"/login"}, "lang": {"en"}, "inspector": {"l"}})
	other.Login()
	webtest.HasTexts(t, other.Get("/runs/"+run.ID), http.StatusOK, `lang="es"`, `data-theme="dark"`, `data-density="compact"`,
		`data-insp="l"`)
}
