package run_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// fragment requests a fragment like htmx does.
func fragment(t *testing.T, site *webtest.Site, b *webtest.Browser, path, target, at string) webtest.Page {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, site.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("HX-Request", "true")
	req.Header.Set("HX-Target", target)
	req.Header.Set("HX-Current-URL", site.URL+at)
	return b.Do(req)
}

// The page of a run shows the log of its steps.
func TestTheLogOfARealRunIsShown(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: talk\nnodes:\n  say: {type: log, input: \"${input}\"}\n")
	run := site.Run(t, "talk", `"plain \u001b[31mred\u001b[0m <b>"`)
	b := site.Browser(t).Login()
	webtest.HasTexts(t, b.Get("/runs/"+run.ID+"?view=log"), http.StatusOK, `id="L1"`, "plain ", `<span class="c1">red</span>`, "&lt;b&gt;")
	webtest.HasTexts(t, b.Get("/runs/"+run.ID+"?step=say&tab=log"), http.StatusOK, "1 line", `<span class="c1">red</span>`)
	webtest.HasTexts(t, b.Get("/runs/"+run.ID+"?view=log&line=1-3"), http.StatusOK, `hl" id="L1"`)
	webtest.HasTexts(t, b.Get("/runs/"+run.ID+"/log.txt"), http.StatusOK, "INFO  say: plain")
}

// Steps, views, and checkpoints have addresses.
func TestPartsOfARunHaveAddresses(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	run := site.Seed(t).Completed
	b := site.Browser(t).Login()
	at := "/runs/" + run.ID
	p := fragment(t, site, b, at+"?step=end", "pane", at)
	webtest.HasTexts(t, p, http.StatusOK, `id="pane"`, `id="inspector"`, "squares")
	if strings.Contains(p.Body, "<main") || p.Header.Get("HX-Push-Url") != "" {
		t.Errorf("the link pushes its address, and the server %q", p.Header.Get("HX-Push-Url"))
	}
	if p = fragment(t, site, b, at+"?step=end", "pane", at+"?step=end"); p.Header.Get("HX-Push-Url") != "false" {
		t.Errorf("the current address is pushed again: %q", p.Header.Get("HX-Push-Url"))
	}
	webtest.HasTexts(
		t,
		fragment(t, site, b, at+"?step=end", "inspector", at+"?step=end"),
		http.StatusOK,
		`<aside class="inspector" id="inspector"`,
		"squares",
	)
	p = fragment(t, site, b, at+"?view=state", "pane", at)
	webtest.HasTexts(t, p, http.StatusOK, `id="pane"`, `id="tabs"`, `type="range"`, `name="nthcp"`, `max="5"`)
	p = fragment(t, site, b, at+"?view=state&nthcp=1", "state", at+"?view=state")
	webtest.HasTexts(t, p, http.StatusOK, `id="state"`, "State at cp 1 after list")
	if got := p.Header.Get("HX-Replace-Url"); got != at+"?cp=1&view=state" {
		t.Errorf("the slider leads to %q", got)
	}
	webtest.HasTexts(t, b.Get(at+"?view=state&nthcp=0"), http.StatusOK, "State at cp 0 input")
	webtest.HasTexts(t, b.Get(at+"?view=state&nthcp=99"), http.StatusOK, "State at cp 5 after end")
}

// Values are shown in parts. Search matches are marked, long lists are split into blocks of a
// hundred, and every part can be copied completely.
func TestValuesAreReadInParts(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: big\nnodes:\n  a: {type: set, input: \"${input}\"}\n")
	var list strings.Builder
	for i := range 250 {
		if i > 0 {
			list.WriteByte(',')
		}
		list.WriteString(`{"n": ` + strings.Repeat("1", i%7+1) + `, "name": "item ` + string(rune('a'+i%26)) + `"}`)
	}
	run := site.Run(t, "big", `{"list": [`+list.String()+`], "odd key": {"x": 9223372036854775808}, "text": "a needle in it"}`)
	b := site.Browser(t).Login()
	at := "/runs/" + run.ID + "?step=a&tab=output"
	webtest.HasTexts(t, b.Get(at), http.StatusOK, "Next 100", "into=.list&amp;nth=", `data-at=".list[0].name"`, "Find in the values")
	webtest.HasTexts(t, b.Get(at+"&into=.list&nth=200"), http.StatusOK, "<code>.list</code>", "[ 250 ]", "Previous 100",
		`data-at=".list[200]"`)
	p := b.Get(at + "&find=NEEDLE")
	webtest.HasTexts(t, p, http.StatusOK, `class="s hit"`, "a needle in it", "Found 1 time.", "… +")
	if strings.Contains(p.Body, "item a") {
		t.Error("a search shows what does not hold it")
	}
	raw := "/runs/" + run.ID + "/raw/1/output"
	for path, want := range map[string]string{".text": "a needle in it", `["odd key"].x`: "9223372036854775808",
		".list[2]": `{"n":111,"name":"item c"}`} {
		if p := b.Get(raw + "?path=" + url.QueryEscape(path)); p.Code != http.StatusOK || p.Body != want {
			t.Errorf("%s: %d %q, want %q", path, p.Code, p.Body, want)
		}
	}
	for _, path := range []string{".none", ".list[250]", ".list[x]", "[", ".text.more", `["`, ".list[99999999999999999999]"} {
		if p := b.Get(raw + "?path=" + url.QueryEscape(path)); p.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, p.Code)
		}
	}
	webtest.HasTexts(t, b.Get("/runs/"+run.ID+"/raw/0/input?path=.text"), http.StatusOK, "a needle in it")
}

// The preview of a resume offers to run only one step and to change limits. By default, nothing is
// selected.
func TestResumeOptionsThroughThePages(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, `
id: pair
on_failure: continue_branches
nodes:
  left: {type: json, input: {value: 1, path: "${input}"}}
  right: {type: json, input: {value: 1, path: "${input}"}}
  join: {type: set, needs: [left, right], input: 1}
`)
	run := site.Run(t, "pair", `".x"`)
	if run.Status != domain.RunFailed {
		t.Fatal(run.Status)
	}
	b := site.Browser(t).Login()
	path := "/runs/" + run.ID + "/resume"
	page := b.Get(path)
	webtest.HasTexts(
		t,
		page,
		http.StatusOK,
		`<option value="" selected>everything that is left`,
		`<option value="right#1">only right, then pause`,
		`name="timeout"`,
		`name="attempts"`,
		"Runs again (2)",
	)
	form := page.Hidden()
	form.Set("only", "right#1")
	form.Set("attempts", "2")
	check := url.Values{"do": {"check"}}
	for k, v := range form {
		check[k] = v
	}
	webtest.HasTexts(
		t,
		b.Post(path, check),
		http.StatusOK,
		"Runs again (1)",
		"Waits until you continue the run (2)",
		"Then the run pauses, and 2 steps wait until you continue it.",
	)
	webtest.HasTexts(t, b.Get(path), http.StatusOK, `<option value="" selected>`)
	form.Set("do", "act")
	if p := b.Post(path, form); p.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", p.Code, webtest.Text(p.Body))
	}
	after, err := site.Engine.Wait(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if after.WaitReason != domain.WaitPaused { // the step fails again, and the rest waits
		t.Errorf("%s %s", after.Status, after.WaitReason)
	}
	rows, err := site.Store.JournalPage(t.Context(), run.ID, run.LastSeq, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range rows {
		if e.Node == "left" || e.Node == "join" {
			t.Errorf("row %d: %s %s %s", e.Seq, e.Kind, e.Node, e.Status)
		}
	}
	form.Set("timeout", "soon")
	webtest.HasTexts(t, b.Post(path, form), http.StatusUnprocessableEntity, "soon")
}

// A fork offers overrides for each step that would repeat side effects, and predicts decisions.
func TestForkListsRepeatedSideEffects(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, `
id: twice
nodes:
  read: {type: set, input: {total: 40}}
  large: {type: decision}
  pay: {type: set, effect: unsafe, input: {paid: true}}
  skip: {type: set, input: nothing}
  end: {type: set, input: "${output.pay.paid}"}
edges:
  - {from: read, to: large}
  - {from: large, to: pay, condition: "expr: last.total > 10"}
  - {from: large, to: skip, condition: default}
  - {from: pay, to: end}
`)
	run := site.Run(t, "twice", "null")
	b := site.Browser(t).Login()
	path := "/runs/" + run.ID + "/fork"
	page := b.Get(path + "?at=1")
	webtest.HasTexts(
		t,
		page,
		http.StatusOK,
		"pay would repeat its side effects",
		`name="instead.pay#1"`,
		"takes its recorded result",
		"large leads to pay",
	)
	form := page.Hidden()
	form.Set("at", "1")
	form.Set("do", "check")
	form.Set("edit.read", `{"total": 3}`)
	webtest.HasTexts(t, b.Post(path, form), http.StatusOK, "large leads to skip; it was pay")
	form.Set("edit.read", form.Get("was.read"))
	form.Set("instead.pay#1", "stub")
	form.Set("stub.pay#1", "{")
	webtest.HasTexts(t, b.Post(path, form), http.StatusOK, "1 value is not JSON")
	form.Set("stub.pay#1", `{"paid": "pretended"}`)
	webtest.HasTexts(t, b.Post(path, form), http.StatusOK, "Gets a result without running (1)", "a person gave a stub")
	form.Set("do", "act")
	forked := b.Post(path, form)
	if forked.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", forked.Code, webtest.Text(forked.Body))
	}
	after, err := site.Engine.Wait(t.Context(), strings.TrimPrefix(forked.Location, "/runs/"))
	if err != nil || string(after.Output) != `"pretended"` {
		t.Errorf("%s %s %v", after.Status, after.Output, err)
	}
	webtest.HasTexts(t, b.Get(forked.Location), http.StatusOK, "a person gave a stub")
}

// Without a second run, a run is compared with the last completed run of its plan. Start times are
// not reported as a difference.
func TestCompareFindsItsPartner(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	good := site.Run(t, "ledger", `{"amount": 5, "currency": "EUR"}`)
	b := site.Browser(t).Login()
	p := b.Get("/runs/compare?a=" + seed.Failed.ID)
	webtest.HasTexts(
		t,
		p,
		http.StatusOK,
		"/runs/"+good.ID,
		"They first differ at check: it went to post in one and to done in the other",
		">Tools<",
		"http",
	)
	if _, row, ok := strings.Cut(p.Body, `<th scope="row">Started</th>`); !ok ||
		strings.Contains(row[:strings.Index(row, "</tr>")], "same") {
		t.Error("two runs are said to have started at the same time")
	}
	webtest.HasTexts(t, b.Get("/runs/compare?a="+seed.Waiting.ID), http.StatusNotFound, "No completed run of refund")
}

// A damaged journal is shown up to the damage, with the possible actions.
func TestADamagedJournalIsShown(t *testing.T) {
	t.Parallel()
	s := failedStory(t)
	s.journal = s.journal[:6]
	s.damage = &domain.Damage{Row: 7, Good: 6, Bad: 1, Intact: 2, Message: "journal row 7 of run 7qx2 fails its checksum",
		Checkpoint: domain.ForkPoint{Seq: 6, Node: "fetch_invoices", Visit: 1, Label: "after fetch_invoices"},
		Rows: []domain.DamagedRow{
			{
				Seq:     7,
				Problem: domain.RowChecksum,
				Kind:    domain.EntryResult,
				Node:    "post_ledger",
				Visit:   1,
				Item:    -1,
				Status:  domain.NodeCompleted,
			},
		},
		Steps: []domain.LostStep{{Node: "post_ledger", Visit: 1, Item: -1, Effect: "unsafe", Row: 7},
			{Node: "notify", Visit: 1, Item: -1, Effect: "idempotent", Status: domain.NodeCompleted, Row: 9}}}
	o := &storyServer{runs: []*story{s}}
	body := o.look(t, "/runs/"+s.run.ID)
	for _, want := range []string{"Row 7 of the journal fails its checksum; checkpoint 6 (after fetch_invoices) is the last good one",
		"kairosd doctor lists every damaged row.", "/runs/" + s.run.ID + "/fork?at=6", "Fork from checkpoint 6…"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// The page of an unknown id lists runs with similar ids.
func TestNoSuchRunNamesOthers(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	run := site.Seed(t).Failed
	b := site.Browser(t).Login()
	wrong := "0" + run.ID[1:len(run.ID)-6] + "zzzzzz"
	if wrong == run.ID {
		t.Skip("it is the same")
	}
	webtest.HasTexts(t, b.Get("/runs/"+wrong), http.StatusNotFound, "Runs with a matching ID", "/runs/"+run.ID)
	webtest.HasTexts(t, b.Get("/runs/zzzz"), http.StatusNotFound, "zzzz")
}
