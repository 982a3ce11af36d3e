package web_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web/static"
	"github.com/kairosd/kairosd/web/webtest"
)

// The sizes of pages stay within their budgets, printed with -v. "make ui-budget" measures times,
// which need an idle machine.
func TestPagesAreWithinTheirBudgets(t *testing.T) {
	t.Parallel()
	const kb = 1024
	check := func(what string, got, limit int) {
		t.Helper()
		t.Logf("%-42s %7.1f KB of %5.1f", what, float64(got)/kb, float64(limit)/kb)
		if got > limit {
			t.Errorf("%s: %d bytes, the budget is %d", what, got, limit)
		}
	}
	js, scripts := 0, 0
	for _, name := range []string{"htmx.min.js", "idiomorph-ext.min.js", "kairos.js"} {
		js += len(file(t, name))
		scripts += webtest.Packed(t, file(t, name))
	}
	check("scripts, raw", js, 100*kb)
	styles := webtest.Packed(t, file(t, "k.css"))
	check("styles, packed", styles, 15*kb)
	fonts := len(file(t, "geist.woff2"))
	check("font", fonts, 30*kb)
	icons := webtest.Packed(t, file(t, "icons.svg"))
	check("icons, packed", icons, 4*kb)
	site := webtest.New(t)
	site.Seed(t)
	for range 60 {
		site.Run(t, "ledger", `{"amount": 50, "currency": "EUR"}`)
	}
	site.Plan(t, webtest.ChainPlan("fifty", 50))
	site.Plan(t, webtest.ChainPlan("fivehundred", 500))
	fifty, large := site.Run(t, "fifty", `null`), site.Run(t, "fivehundred", `null`)
	b := site.Browser(t).Login()
	size := func(path string) int {
		p := b.Get(path)
		if p.Code != http.StatusOK {
			t.Fatalf("%s: got status %d, want %d", path, p.Code, http.StatusOK)
		}
		return webtest.Packed(t, p.Body)
	}
	check("run list of 50, packed", size("/runs"), 14*kb)
	check("run page of 50 steps, packed", size("/runs/"+fifty.ID), 25*kb)
	check("timeline of 500 steps, packed", size("/runs/"+large.ID), 10*kb)
	check("graph of 500 nodes, packed", size("/runs/"+large.ID+"?view=graph"), 20*kb)
	check("home, packed", size("/"), 14*kb)
	check("first visit, packed", scripts+styles+fonts+icons+size("/"), 100*kb)
}

// file returns an embedded file as served to a browser.
func file(t *testing.T, name string) string {
	t.Helper()
	w := &recorder{header: http.Header{}}
	r, err := http.NewRequest(http.MethodGet, static.Path(name), nil)
	if err != nil {
		t.Fatal(err)
	}
	static.Serve(w, r, static.Hash(), name)
	if w.body.Len() == 0 {
		t.Fatalf("no file %s", name)
	}
	return w.body.String()
}

type recorder struct {
	header http.Header
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }
func (r *recorder) WriteHeader(int)             {}

// The page of a very large plan is as small as others, because the plan is split into pages.
func TestPagesOfLargePlansAreBounded(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, webtest.ChainPlan("vast", 3002))
	b := site.Browser(t).Login()
	for _, path := range []string{"/plans/vast", "/plans/vast?line=6001"} {
		p := b.Get(path)
		if p.Code != http.StatusOK {
			t.Fatalf("%s: got status %d, want %d", path, p.Code, http.StatusOK)
		}
		t.Logf("%s: %d bytes, %d packed", path, len(p.Body), webtest.Packed(t, p.Body))
		if len(p.Body) > 200<<10 {
			t.Errorf("%s: %d bytes", path, len(p.Body))
		}
	}
	p := b.Get("/plans/vast?line=6001").Body
	if !strings.Contains(p, "step_3000, to: step_3001}") || !strings.Contains(p, "Lines 6,001 to 6,007 of 6,007") {
		t.Error("the last lines are not on the last page")
	}
}
