package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

// An outage is one line of the home page; its button leads to a preview, the
// preview to an act with an address of its own.
func TestAnOutageIsOneLineOnHome(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	for range 4 {
		site.Run(t, "ledger", `{"amount": 50, "currency": "EUR"}`)
	}
	b := site.Browser(t).Login()
	home := b.Get("/")
	query := "status:failed is:attention plan:ledger step:post error:" + seed.Failed.Error.Code
	address := "/bulk/new?" + url.Values{"do": {"resume"}, "q": {query}}.Encode()
	if !strings.Contains(home.Body, strings.ReplaceAll(address, "&", "&amp;")) || !strings.Contains(home.Body, "Resume 5…") {
		t.Fatalf("home has no line for the outage, with %s:\n%s", address, home.Body)
	}
	p := b.Get(address)
	for _, want := range []string{"Resume 5 runs", "5 runs matched", "1 step again", `name="canary" value="1" checked`} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("the preview does not say %q", want)
		}
	}
	form := p.Hidden()
	form.Set("canary", "1")
	form.Set("reason", "it is up again")
	stale := url.Values{}
	for k, v := range form {
		stale[k] = v
	}
	stale.Set("digest", "old")
	stale.Set("idem", "x")
	if p := b.Post("/bulk", stale); p.Code != http.StatusConflict || !strings.Contains(p.Body, "how things stand now") {
		t.Errorf("a stale preview: %d", p.Code)
	}
	first, second := b.Post("/bulk", form), b.Post("/bulk", form)
	if first.Code != http.StatusSeeOther || first.Location != second.Location || !strings.HasPrefix(first.Location, "/bulk/") {
		t.Fatalf("%d %s, %d %s\n%s", first.Code, first.Location, second.Code, second.Location, first.Body)
	}
	// The address lets nothing in again: the canary failed, the others wait.
	id := strings.TrimPrefix(first.Location, "/bulk/")
	for {
		act, err := site.Bulk.Bulk(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if act.State.Final() {
			break
		}
	}
	p = b.Get(first.Location)
	for _, want := range []string{"Stopped", "failed the same way", "1 of 5", "it is up again", "bulk%3A" + id} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("the page of the act does not say %q", want)
		}
	}
	if p := b.Get("/bulk"); !strings.Contains(p.Body, first.Location) {
		t.Error("the list of acts lacks it")
	}
	if p := b.Get("/runs?q=bulk:" + id); strings.Count(p.Body, `name="run"`) != 5 {
		t.Errorf("its runs as a list: %d", strings.Count(p.Body, `name="run"`))
	}
}

func TestChosenRunsAreActedOn(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	address := "/bulk/new?" + url.Values{"do": {"delete"}, "q": {""}, "run": {seed.Completed.ID, seed.Waiting.ID}}.Encode()
	p := b.Get(address)
	if !strings.Contains(p.Body, "Delete 1 run") || !strings.Contains(p.Body, "the run is waiting") {
		t.Fatalf("%d %s", p.Code, p.Body)
	}
	form := p.Hidden()
	form["run"] = []string{seed.Completed.ID, seed.Waiting.ID}
	if p := b.Post("/bulk", form); p.Code != http.StatusUnprocessableEntity || !strings.Contains(p.Body, "Say why") {
		t.Errorf("deleting many without a reason: %d", p.Code)
	}
	form.Set("reason", "a test")
	if p = b.Post("/bulk", form); p.Code != http.StatusSeeOther {
		t.Fatalf("%d\n%s", p.Code, p.Body)
	}
	if p := b.Get("/bulk/new?do=odd&q=x"); p.Code != http.StatusNotFound {
		t.Errorf("an act there is not: %d", p.Code)
	}
}

// A view is a name for a query; it is a person's own.
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
		t.Fatalf("%d %s", p.Code, p.Body)
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

// A list that is open says what is new and changes its cells, never its rows.
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
		t.Errorf("nothing is new, but: %d %s", p.Code, p.Body)
	}
	site.Run(t, "report", `null`)
	p := b.Get(address)
	if !strings.Contains(p.Body, "1 new run") || !strings.Contains(p.Body, `<template><td class="e" id="e-`+seed.Failed.ID+`" hx-swap-oob="true">`) {
		t.Errorf("%s", p.Body)
	}
}

// A filter that is not understood says what was perhaps meant; one that matches
// nothing, what leaving a term out would give.
func TestFiltersHelp(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Seed(t)
	b := site.Browser(t).Login()
	if p := b.Get("/runs?q=stats:failed"); p.Code != http.StatusBadRequest || !strings.Contains(p.Body, "Did you mean status:failed?") {
		t.Errorf("%d", p.Code)
	}
	if p := b.Get("/runs?q=" + url.QueryEscape("plan:report status:failed")); !strings.Contains(p.Body, "Without status:failed") || !strings.Contains(p.Body, "Without plan:report") {
		t.Errorf("nothing matches, and no way out is shown:\n%s", p.Body)
	}
	// A page in Spanish says the same in Spanish, and keeps the query's keys.
	req, err := http.NewRequest(http.MethodGet, site.URL+"/runs?q="+url.QueryEscape("status:failed"), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Language", "es-ES,es;q=0.9")
	p := b.Do(req)
	for _, want := range []string{`lang="es"`, "Ejecuciones", "Fallida", "mostradas", `value="status:failed"`} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("the Spanish list does not say %q", want)
		}
	}
	if p.Header.Get("Content-Language") != "es" {
		t.Error("no Content-Language")
	}
}
