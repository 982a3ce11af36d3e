package runs_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

// A view is a named query that belongs to a user.
func TestViewsAreKept(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Seed(t)
	b := site.Browser(t).Login()
	q := "plan:ledger status:failed since:24h"
	form := b.Get("/runs?q=" + url.QueryEscape(q)).Hidden()
	form.Set("q", q)
	form.Set("name", "Ledger today")
	if p := b.Post("/views", form); p.Code != http.StatusSeeOther {
		t.Fatalf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, p.Body)
	}
	p := b.Get("/runs?q=" + url.QueryEscape(q))
	if !strings.Contains(p.Body, "Ledger today</a>") || !strings.Contains(p.Body, "Remove the view Ledger today") {
		t.Errorf("the view is not offered:\n%s", p.Body)
	}
	form.Set("remove", "1")
	if p := b.Post("/views", form); p.Code != http.StatusSeeOther {
		t.Fatal(p.Code)
	}
	if p := b.Get("/runs"); strings.Contains(p.Body, "Ledger today") {
		t.Error("a removed view is offered")
	}
}

// An open list shows the number of new runs and updates its cells. It does not move its rows.
func TestAnOpenListIsNotMoved(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	list := b.Get("/runs")
	at := strings.Index(list.Body, `hx-get="/runs/changes?`)
	if at < 0 {
		t.Fatal("the list cannot be followed")
	}
	address, _, _ := strings.Cut(list.Body[at+len(`hx-get="`):], `"`)
	address = strings.ReplaceAll(address, "&amp;", "&")
	if p := b.Get(address); p.Code != http.StatusOK || strings.Contains(p.Body, "new run") {
		t.Errorf("without new runs: got status %d, want %d: %s", p.Code, http.StatusOK, p.Body)
	}
	site.Run(t, "report", `null`)
	p := b.Get(address)
	if !strings.Contains(p.Body, "1 new run") ||
		!strings.Contains(p.Body, `<template><td class="e" id="e-`+seed.Failed.ID+`" hx-swap-oob="true">`) {
		t.Errorf("%s", p.Body)
	}
}

// An invalid filter suggests a correction. A filter without matches shows how many runs match
// without each term.
func TestFiltersHelp(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Seed(t)
	b := site.Browser(t).Login()
	if p := b.Get("/runs?q=stats:failed"); p.Code != http.StatusBadRequest || !strings.Contains(p.Body, "Did you mean status:failed?") {
		t.Errorf("got status %d, want %d", p.Code, http.StatusBadRequest)
	}
	if p := b.Get("/runs?q=" + url.QueryEscape("plan:report status:failed")); !strings.Contains(p.Body, "Without status:failed") ||
		!strings.Contains(p.Body, "Without plan:report") {
		t.Errorf("an empty result does not offer to clear the filter:\n%s", p.Body)
	}
	// Query keys are not translated on a page in Spanish.
	req, err := http.NewRequest(http.MethodGet, site.URL+"/runs?q="+url.QueryEscape("status:failed"), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Language", "es-ES,es;q=0.9")
	p := b.Do(req)
	for _, want := range []string{`lang="es"`, "Ejecuciones", "Fallida", "mostradas", `value="status:failed"`} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("the Spanish list does not contain %q", want)
		}
	}
	if p.Header.Get("Content-Language") != "es" {
		t.Error("no Content-Language")
	}
}

// A value that does not exist is reported, with the most similar value that exists.
func TestAFilterSuggestsItsValues(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	code := seed.Failed.Error.Code
	for q, want := range map[string]string{
		"plan:legder": "Did you mean plan:ledger?", "error:" + code + "x": "Did you mean error:" + code + "?",
		"tool:htp":   "Did you mean tool:http?",
		"agent:dsek": "Did you mean agent:desk?", "-plan:repot": "Did you mean plan:report?",
		"has:frok": "Did you mean has:fork?", "stats:failed": "Did you mean status:failed?",
	} {
		p := b.Get("/runs?q=" + url.QueryEscape(q))
		if p.Code != http.StatusBadRequest || !strings.Contains(p.Body, want) || !strings.Contains(p.Body, `id="list"`) {
			t.Errorf("%s: got status %d, want %d: the page does not contain %q", q, p.Code, http.StatusBadRequest, want)
		}
	}
	// Values from the configuration exist before any run uses them.
	webtest.HasTexts(t, b.Get("/runs?q=agent:accountant"), http.StatusOK, "No run matches.")
	webtest.HasTexts(t, b.Get("/runs/suggest?q=error:"), http.StatusOK, code, "1 run needs attention")
}

// Links in cells filter the list. Custom time ranges and the default view are part of the address.
func TestCellsRangesAndTheDefaultView(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	p := b.Get("/runs?q=plan:ledger")
	for _, q := range []string{"plan:ledger status:failed", "plan:ledger v:1", "plan:ledger error:" + seed.Failed.Error.Code,
		"plan:ledger step:post"} {
		if !strings.Contains(p.Body, `href="/runs?q=`+url.QueryEscape(q)+`"`) {
			t.Errorf("no cell links to %s", q)
		}
	}
	p = b.Get("/runs?q=plan:ledger+since:7d&from=2030-01-31T08:00&to=")
	if want := "/runs?q=" + url.QueryEscape("plan:ledger since:2030-01-31T08:00Z"); p.Location != want {
		t.Fatalf("status %d %s, want %s", p.Code, p.Location, want)
	}
	webtest.HasTexts(
		t,
		b.Get(p.Location),
		http.StatusOK,
		"by end time; active runs by start time",
		`value="2030-01-31T08:00"`,
		"<b>Custom</b>",
	)
	webtest.HasTexts(t, b.Get("/runs?from=soon"), http.StatusUnprocessableEntity)
	f := webtest.Form(t, b.Get("/runs?q=plan:ledger").Body, "/views/default")
	if p := b.Post("/views/default", f); p.Location != "/runs?q=plan%3Aledger" {
		t.Fatalf("status %d %s", p.Code, p.Location)
	}
	if p := b.Get("/runs"); p.Location != "/runs?q=plan%3Aledger" {
		t.Errorf("opening the list: status %d %s", p.Code, p.Location)
	}
	webtest.HasTexts(t, b.Get("/runs?q="), http.StatusOK, "report")
	f = webtest.Form(t, b.Get("/runs?q=plan:ledger").Body, "/views/default")
	f.Set("remove", "1")
	b.Post("/views/default", f)
	webtest.HasTexts(t, b.Get("/runs"), http.StatusOK, "report")
}

// The pages of the list keep the selected page size and show the number of matching runs in one
// sentence. Every page shows the time zone of its times.
func TestPagesOfTheListKeepTheirSize(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Seed(t)
	for range 30 {
		site.Run(t, "report", `null`)
	}
	b := site.Browser(t).Login()
	webtest.HasTexts(t, b.Get("/runs?n=25"), http.StatusOK, "25 shown, 35 match", "Times are in UTC.")
	older := between(b.Get("/runs?n=25").Body, `rel="next" href="`, `"`)
	webtest.HasTexts(t, b.Get(strings.ReplaceAll(older, "&amp;", "&")), http.StatusOK, `href="/runs?n=25&amp;q="`)
	b.Post("/display", url.Values{"csrf": {b.Get("/me").Hidden().Get("csrf")}, "lang": {"es"}, "back": {"/"}})
	webtest.HasTexts(t, b.Get("/runs?n=25"), http.StatusOK, "25 mostradas, coinciden 35")
}

// between returns the part of s between two texts.
func between(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, _ = strings.Cut(s, to)
	return s
}
