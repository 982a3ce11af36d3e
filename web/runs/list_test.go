package runs_test

import (
	"encoding/csv"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/web/webtest"
)

// The preview of a run is a row of the list with scripts, and a page without.
func TestARunIsPeekedAt(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	path := "/runs/" + seed.Failed.ID + "/peek?q=status:failed"
	p := b.Get(path)
	for _, want := range []string{"<h1>", "post failed", "tool:http", "Open the run", `/resume"`,
		url.QueryEscape("status:failed plan:ledger")} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("the peek does not contain %q", want)
		}
	}
	req, err := http.NewRequest(http.MethodGet, site.URL+path+"&span=9", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("HX-Request", "true")
	req.Header.Set("HX-Target", "peek")
	if p := b.Do(req); !strings.HasPrefix(p.Body, `<tr class="peek"><td colspan="9">`) {
		t.Errorf("a row of the list begins %.60q", p.Body)
	}
	if p := b.Get("/runs"); !strings.Contains(p.Body, `href="/runs/`+seed.Failed.ID+`/peek`) {
		t.Error("the list does not link to a peek")
	}
}

// The selected columns belong to the user. A sorted list covers a range of newest runs and shows
// this range.
func TestTheRunListHasColumnsAndOrders(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	form := b.Get("/runs").Hidden()
	form.Set("back", "/runs?q=plan:ledger")
	form["column"] = []string{"cost", "labels", "odd"}
	if p := b.Post("/columns", form); p.Location != "/runs?q=plan:ledger" {
		t.Fatalf("status %d %s", p.Code, p.Location)
	}
	p := b.Get("/runs?q=plan:ledger")
	if !strings.Contains(p.Body, "env=test</a>") || !strings.Contains(p.Body, url.QueryEscape("plan:ledger label.env=test")) ||
		!strings.Contains(p.Body, "sort=cost") {
		t.Errorf("the chosen columns are not there:\n%s", p.Body)
	}
	for _, by := range []string{"took", "cost", "ended"} {
		p := b.Get("/runs?sort=" + by)
		if p.Code != http.StatusOK || !strings.Contains(p.Body, "among all runs.") ||
			!strings.Contains(p.Body, `aria-sort="descending"`) && by != "ended" ||
			strings.Count(p.Body, `name="run"`) != 5 {
			t.Errorf("sorted by %s: got status %d, want %d", by, p.Code, http.StatusOK)
		}
	}
	if p := b.Get("/runs?sort=odd"); p.Code != http.StatusUnprocessableEntity {
		t.Errorf("an unknown order: got status %d, want %d", p.Code, http.StatusUnprocessableEntity)
	}
	// A bare word is the key of a plan. Terms include or exclude runs by the tools, agents, and
	// steps they used.
	for q, n := range map[string]int{"ledger": 1, "tool:http": 2, "tool:http,set": 2, "-tool:http": 3,
		"status:failed,interrupted": 3, "plan:ledger,refund": 2, "attempt:>1": 0,
		"is:acknowledged": 0, "tool:calculator -plan:ledger": 1, "-label.env=test": 0, "step:post,pay": 2} {
		if got := strings.Count(b.Get("/runs?q="+url.QueryEscape(q)).Body, `name="run"`); got != n {
			t.Errorf("%s selects %d runs, want %d", q, got, n)
		}
	}
	if p := b.Get("/runs/suggest?q=" + url.QueryEscape("status:failed plan:led")); !strings.Contains(
		p.Body,
		`data-q="status:failed plan:ledger "`,
	) {
		t.Errorf("no plan is suggested: %s", p.Body)
	}
	for word, n := range map[string]string{"needs_you": "1", "interrupted": "1", "retrying": "0",
		"paused": "0"} { // same counts as the chips
		if text := webtest.Text(b.Get("/runs/suggest?q=status:" + word).Body); text != "status:"+word+" "+n {
			t.Errorf("%s is suggested as %q", word, text)
		}
	}
	if p := b.Get("/runs/suggest?q=-to"); !strings.Contains(p.Body, `data-q="-tool:"`) {
		t.Errorf("no key is suggested: %s", p.Body)
	}
	for q, want := range map[string]string{"tool:ht": "tool:http 2 runs", "by:": "by:marta 5 runs",
		"provider:": "provider:script 0 runs", "agent:d": "agent:desk 0 runs"} {
		if text := webtest.Text(b.Get("/runs/suggest?q=" + q).Body); !strings.Contains(text, want) {
			t.Errorf("%s suggests %q", q, text)
		}
	}
	if p := b.Get("/runs/suggest?q=tool:http,ca"); !strings.Contains(p.Body, `tool:http,calculator `) {
		t.Errorf("no second choice is suggested: %s", p.Body)
	}
	_ = seed
}

// An export contains every matching run. No cell starts a formula in a spreadsheet (A35).
func TestRunsAreExportedAsCSV(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Seed(t)
	run, err := site.Engine.Start(
		t.Context(),
		site.Admin,
		domain.StartRequest{Plan: "report", Labels: map[string]string{"=cmd|'/c calc'!A1": "x"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := site.Engine.Wait(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	for range 210 { // more than one page
		site.Run(t, "report", `null`)
	}
	b := site.Browser(t).Login()
	p := b.Get("/runs.csv?q=plan:report")
	rows, err := csv.NewReader(strings.NewReader(p.Body)).ReadAll()
	if err != nil || len(rows) != 1+212 || p.Header.Get("Content-Type") != "text/csv; charset=utf-8" ||
		!strings.Contains(p.Header.Get("Content-Disposition"), "attachment") {
		t.Fatalf("%d rows, %v %v", len(rows), p.Header, err)
	}
	seen := map[string]bool{}
	for _, r := range rows[1:] {
		seen[r[0]] = true
		for i, cell := range r {
			if cell != "" && strings.ContainsAny(cell[:1], "=+-@\t\r") {
				t.Errorf("%s is a formula: %q", rows[0][i], cell)
			}
		}
	}
	if len(seen) != 212 || !seen[run.ID] {
		t.Errorf("%d different runs", len(seen))
	}
	if p := b.Get("/runs.csv?q=status:odd"); p.Code != http.StatusUnprocessableEntity {
		t.Errorf("a wrong filter: got status %d, want %d", p.Code, http.StatusUnprocessableEntity)
	}
}

// A list shows the number of matching runs only if the count is complete. Otherwise it shows a
// lower bound, and offers bulk operations on all matching runs without a number.
func TestTheRunListCountsItsRuns(t *testing.T) {
	t.Parallel()
	s := webtest.NewOn(t, storetest.OpenExamining(t, 256))
	b := s.Browser(t).Login()
	v := storetest.Plan(t, s.Store, "id: many\nnodes: {one: {type: set}}\n")
	for range 300 {
		storetest.Run(t, s.Store, v, "")
	}
	page := b.Get("/runs?q=cost:%3C1&n=200")
	webtest.Has(t, page, "the list", "200 shown, at least 256 match", "All matching runs")
	page = b.Get("/runs?q=cost:%3E1")
	webtest.Has(t, page, "the list", "0 shown", "Search stopped at")
	page = b.Get("/runs?q=status:failed+cost:%3C1")
	webtest.Has(t, page, "the list", "Without status:failed", "at least 256 runs")
}
