package run_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/web/webtest"
)

// damagedSite returns a site with one run whose journal was damaged while it waited for an
// approval.
func damagedSite(t *testing.T) (site *webtest.Site, run string) {
	t.Helper()
	return damagedBy(t, `UPDATE step_results SET output = '"receipt 4712"' WHERE node = 'pay' AND final = 1`)
}

// damagedBy is like damagedSite, with the statement that causes the damage.
func damagedBy(t *testing.T, statement string) (site *webtest.Site, run string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kairos.db")
	s, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := enginetest.OpenOn(t, s, enginetest.NewRegistry(), engine.Options{})
	r := e.Until(
		e.Run(
			`{id: billing, nodes: {fetch: {type: set, input: "the order"}, pay: {type: set, effect: unsafe, input: "receipt 4711"}, book: {type: set, effect: idempotent, input: "booked"}, pause: {type: wait, input: {for: 10ms}}, gate: {type: approval, input: {message: "go on?"}}},
	  edges: [{from: fetch, to: pay}, {from: pay, to: book}, {from: book, to: pause}, {from: pause, to: gate}]}`,
			"",
		).ID,
		domain.RunWaiting,
		domain.WaitApproval,
	)
	e.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	storetest.Alter(t, path, statement)

	return webtest.NewOn(t, storetest.OpenAt(t, path)), r.ID
}

// Home and the list show that a run with a damaged journal waits, and its page shows the damaged
// row. A resume is refused with a suggestion, and a fork from the last intact checkpoint continues.
func TestADamagedRunFromHomeToItsFork(t *testing.T) {
	t.Parallel()
	site, run := damagedSite(t)
	b := site.Browser(t).Login()
	page := "/runs/" + run
	d, err := site.Engine.Detail(t.Context(), run)
	if err != nil || d.Damage == nil {
		t.Fatalf("%+v, %v", d.Damage, err)
	}
	at := d.Damage.Checkpoint.Seq
	webtest.HasTexts(
		t,
		b.Get(page),
		http.StatusOK,
		fmt.Sprintf("Row %d of the journal fails its checksum; checkpoint %d (after fetch) is the last good one", d.Damage.Row, at),
		"kairosd doctor lists every damaged row.",
		fmt.Sprintf("%s/fork?at=%d", page, at),
		"remains as evidence",
	)
	if p := b.Get(page); strings.Contains(p.Body, "receipt 4712") || strings.Contains(p.Body, ">Approve<") {
		t.Error("the page shows damaged data, or takes an answer")
	}
	for _, view := range []string{"graph", "state", "handoffs", "events", "log", "io"} {
		webtest.HasTexts(t, b.Get(page+"?view="+view), http.StatusOK, "fails its checksum")
	}
	webtest.HasTexts(t, b.Get(page+"/peek"), http.StatusOK, "billing")

	quarantined := func(r domain.Run) bool { return r.WaitReason == domain.WaitQuarantined }
	if _, err := site.Engine.WaitFor(t.Context(), run, quarantined); err != nil { // the view of the page quarantined the run
		t.Fatal(err)
	}
	webtest.HasTexts(t, b.Get("/"), http.StatusOK, page, fmt.Sprintf("journal row %d is damaged", d.Damage.Row))
	webtest.HasTexts(t, b.Get("/runs?q=waiting:quarantined"), http.StatusOK, page)
	webtest.HasTexts(t, b.Get("/events?run="+run), http.StatusNotFound)

	webtest.HasTexts(
		t,
		b.Get(page+"/resume"),
		http.StatusOK,
		fmt.Sprintf("journal row %d is damaged", d.Damage.Row),
		fmt.Sprintf("--at %d", at),
	)
	webtest.HasTexts(
		t,
		b.Get(fmt.Sprintf("%s/fork?at=%d", page, at)),
		http.StatusOK,
		"pay may already have had side effects: its record is damaged",
		"book would repeat its side effects",
		fmt.Sprintf(`value="%d" selected`, at),
		"fails its checksum",
		"takes its recorded result",
	)
	webtest.HasTexts(
		t,
		b.Get(fmt.Sprintf("%s/fork?at=%d", page, d.Damage.Row)),
		http.StatusOK,
		fmt.Sprintf("A fork cannot start from position %d", d.Damage.Row),
	)
	webtest.HasTexts(t, b.Get("/api/v1/runs/"+run), http.StatusOK, `"damage":{"row":`+fmt.Sprint(d.Damage.Row), `"problem":"checksum"`)
	webtest.HasTexts(t, b.Get("/api/v1/runs/"+run+"/journal"), http.StatusOK, `"damage":"journal row `)
	webtest.HasTexts(
		t,
		b.Do(
			webtest.Request(
				t,
				http.MethodPost,
				site.URL+"/api/v1/runs/"+run+"/fork?preview=true",
				fmt.Sprintf(`{"seq":%d}`, at),
				"Content-Type",
				"application/json",
				"Sec-Fetch-Site",
				"same-origin",
			),
		),
		http.StatusOK,
		`"doubtful":true`,
		`"damage":`,
	)

	form := b.Get(fmt.Sprintf("%s/fork?at=%d", page, at)).Hidden()
	for name, value := range map[string]string{"at": fmt.Sprint(at), "do": "act", "reason": "checked", "instead.pay#1": "stub",
		"stub.pay#1": `"found in the ledger"`, "instead.book#1": "recorded"} {
		form.Set(name, value)
	}
	forked := b.Post(page+"/fork", form)
	if forked.Code != http.StatusSeeOther {
		t.Fatalf("fork: %d\n%s", forked.Code, forked.Body)
	}
	next := strings.TrimPrefix(forked.Location, "/runs/")
	if _, err := site.Engine.Wait(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	webtest.HasTexts(t, b.Get(forked.Location+"?view=events"), http.StatusOK, "a person gave the recorded result",
		"a person gave a stub")
	webtest.HasTexts(t, b.Get(page+"?view=lineage"), http.StatusOK, "fails its checksum", "/runs/"+next)
	form = b.Get(page + "/cancel").Hidden()
	form.Set("do", "act")
	form.Set("reason", "goes on as a fork")
	if p := b.Post(page+"/cancel", form); p.Code != http.StatusSeeOther {
		t.Errorf("cancel: %d %s", p.Code, webtest.Text(p.Body))
	}
	webtest.HasTexts(t, b.Get(page), http.StatusOK, "fails its checksum", "Delete…")
}

// No step of a damaged run is shown as active. The timeline, the graph, and the inspector show that
// the end of an unfinished step is unknown.
func TestNoStepOfADamagedRunIsAtWork(t *testing.T) {
	t.Parallel()
	site, run := damagedSite(t)
	b := site.Browser(t).Login()
	page := "/runs/" + run
	text := webtest.Text(b.Get(page).Body)
	if !strings.Contains(text, "1 end unknown") {
		t.Errorf("the timeline does not say that the end of a step is unknown:\n%s", text)
	}
	for _, view := range []string{"", "?view=graph", "?view=graph&mode=ran", "?sort=took&critical=show&idle=show", "?step=pay",
		"?step=book", "?step=book&tab=input", "?view=log", "?view=handoffs"} {
		p := b.Get(page + view)
		if p.Code != http.StatusOK || strings.Contains(p.Body, "live-bar") || strings.Contains(webtest.Text(p.Body), "It still runs.") ||
			strings.Contains(webtest.Text(p.Body), " running ") {
			t.Errorf("%s: %d: something is at work\n%s", view, p.Code, webtest.Text(p.Body))
		}
		webtest.Safe(t, view, p.Body)
	}
}

// The approval request of a damaged run is in no inbox and no count. Its own page shows the reason
// and links to the run.
func TestADamagedRunRequestsNoApproval(t *testing.T) {
	t.Parallel()
	site, run := damagedSite(t)
	b := site.Browser(t).Login()
	list, err := site.Store.Approvals(t.Context(), domain.ApprovalFilter{Run: run})
	if err != nil || len(list.Items) != 1 {
		t.Fatal(list.Items, err)
	}
	question := "/approvals/" + list.Items[0].ID
	webtest.HasTexts(t, b.Get("/runs/"+run), http.StatusOK, "fails its checksum") // viewing the page quarantines the run
	if _, err := site.Engine.WaitFor(t.Context(), run,
		func(r domain.Run) bool { return r.WaitReason == domain.WaitQuarantined }); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/approvals", "/approvals?show=all", "/"} {
		if p := b.Get(path); p.Code != http.StatusOK || strings.Contains(p.Body, question) ||
			strings.Contains(webtest.Text(p.Body), "1 waiting for you") {
			t.Errorf("%s still asks: %s", path, webtest.Text(p.Body))
		}
	}
	p := b.Get(question)
	webtest.HasTexts(t, p, http.StatusOK, "cancelled", "is damaged; the run can continue as a fork from checkpoint", "/runs/"+run)
	webtest.Safe(t, question, p.Body)
	webtest.HasTexts(
		t,
		b.Get("/api/v1/approvals/"+list.Items[0].ID),
		http.StatusOK,
		`"status":"cancelled"`,
		"is damaged; the run can continue as a fork",
	)
}

// A run without its input or its settings is still shown. Its page, lists, and the API show the
// damage and all intact data.
func TestARunThatLostItsInputIsStillShown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ statement, says, part string }{
		"input": {`UPDATE run_details SET input = '{"order"'`, "The input of this run is damaged", "input"},
		"limits": {`PRAGMA ignore_check_constraints = 1; UPDATE run_details SET limits = '{"max'`,
			"The limits of this run are damaged", "limits"},
		"details": {`DELETE FROM run_details`, "The start parameters of this run are damaged", "details"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site, run := damagedBy(t, c.statement)
			b := site.Browser(t).Login()
			page := "/runs/" + run
			webtest.HasTexts(
				t,
				b.Get(page),
				http.StatusOK,
				c.says,
				"restore a backup, or start a new run with the same input",
				"/runs/new?like="+run,
				"end unknown",
				"completed",
			)
			for _, view := range []string{"?view=graph", "?view=state", "?view=handoffs", "?view=events", "?view=log",
				"?view=io", "?step=pay", "/steps/2", "/peek", "?view=lineage", "/cancel", "/note", "/resume", "/fork?at=1", "/rerun",
				"/export"} {
				p := b.Get(page + view)
				if p.Code >= 500 || strings.Contains(p.Body, "live-bar") {
					t.Errorf("%s: %d %s", view, p.Code, webtest.Text(p.Body))
				}
				if !strings.HasPrefix(view, "/export") {
					webtest.Safe(t, view, p.Body)
				}
			}
			if c.part != "limits" {
				webtest.HasTexts(t, b.Get(page+"?view=io"), http.StatusOK, c.says+": ")
			}
			if _, err := site.Engine.WaitFor(t.Context(), run,
				func(r domain.Run) bool { return r.WaitReason == domain.WaitQuarantined }); err != nil {
				t.Fatal(err)
			}
			webtest.HasTexts(t, b.Get("/runs"), http.StatusOK, page, "the start data of the run is damaged ("+c.part+")")
			webtest.HasTexts(t, b.Get("/runs.csv"), http.StatusOK, run)
			webtest.HasTexts(t, b.Get("/"), http.StatusOK, page)
			webtest.HasTexts(t, b.Get("/runs/new?like="+run), http.StatusOK, "billing")
			webtest.HasTexts(
				t,
				b.Get("/api/v1/runs/"+run),
				http.StatusOK,
				`"parts":[{"part":"`+c.part+`"`,
				`"damaged":[{"part":"`+c.part+`"`,
				`"pay":"receipt 4711"`,
			)
			webtest.HasTexts(t, b.Get("/api/v1/runs"), http.StatusOK, run)
			webtest.HasTexts(t, b.Get("/api/v1/runs/"+run+"/journal"), http.StatusOK, "receipt 4711")
			webtest.HasTexts(
				t,
				b.Do(
					webtest.Request(
						t,
						http.MethodPost,
						site.URL+"/api/v1/runs/"+run+"/resume?preview=true",
						"{}",
						"Content-Type",
						"application/json",
						"Sec-Fetch-Site",
						"same-origin",
					),
				),
				http.StatusOK,
				`"allowed":false`,
				c.part+" of the run is damaged",
			)
			form := b.Get(page + "/cancel").Hidden()
			form.Set("do", "act")
			form.Set("reason", "a new one does it")
			if p := b.Post(page+"/cancel", form); p.Code != http.StatusSeeOther {
				t.Errorf("cancel: %d %s", p.Code, webtest.Text(p.Body))
			}
			webtest.HasTexts(t, b.Get(page), http.StatusOK, c.says, "Delete…")
			if c.part != "input" { // lists do not read the input
				webtest.HasTexts(t, b.Get("/runs"), http.StatusOK, c.says)
			}
		})
	}
}
