package web_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/web/webtest"
)

// damagedSite is an installation with one run whose journal was damaged while it
// waited for an answer.
func damagedSite(t *testing.T) (site *webtest.Site, run string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kairos.db")
	s, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := enginetest.OpenOn(t, s, enginetest.NewRegistry(), engine.Options{})
	r := e.Until(e.Run(`{id: billing, nodes: {fetch: {type: set, input: "the order"}, pay: {type: set, effect: unsafe, input: "receipt 4711"}, book: {type: set, effect: idempotent, input: "booked"}, pause: {type: wait, input: {for: 10ms}}, gate: {type: approval, input: {message: "go on?"}}},
	  edges: [{from: fetch, to: pay}, {from: pay, to: book}, {from: book, to: pause}, {from: pause, to: gate}]}`, "").ID, kairos.RunWaiting, kairos.WaitApproval)
	e.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	storetest.Alter(t, path, `UPDATE step_results SET output = '"receipt 4712"' WHERE node = 'pay' AND final = 1`)

	return webtest.NewOn(t, storetest.OpenAt(t, path)), r.ID
}

// Somebody finds a run with a damaged journal: home and the list say that it waits,
// its page says which row it is and what happened behind it, resuming is refused
// with the way on, and a fork from the last good checkpoint goes on.
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
	says(t, b.Get(page), http.StatusOK, fmt.Sprintf("Row %d of the journal fails its checksum; checkpoint %d (after fetch) is the last good one", d.Damage.Row, at),
		"pay (unsafe): row", "It may have happened.", "book (idempotent): row", "It says of itself: result pay completed", fmt.Sprintf("%s/fork?at=%d", page, at), "stays as it is, as evidence")
	if p := b.Get(page); strings.Contains(p.Body, "receipt 4712") || strings.Contains(p.Body, ">Approve<") {
		t.Error("the page shows damaged data, or takes an answer")
	}
	for _, view := range []string{"graph", "state", "handoffs", "events", "log", "io"} {
		says(t, b.Get(page+"?view="+view), http.StatusOK, "fails its checksum")
	}
	says(t, b.Get(page+"/peek"), http.StatusOK, "billing")

	quarantined := func(r kairos.Run) bool { return r.WaitReason == kairos.WaitQuarantined }
	if _, err := site.Engine.WaitFor(t.Context(), run, quarantined); err != nil { // being looked at was enough
		t.Fatal(err)
	}
	says(t, b.Get("/"), http.StatusOK, page, fmt.Sprintf("journal row %d is damaged", d.Damage.Row))
	says(t, b.Get("/runs?q=waiting:quarantined"), http.StatusOK, page)
	says(t, b.Get("/events?run="+run), http.StatusNotFound)

	says(t, b.Get(page+"/resume"), http.StatusOK, fmt.Sprintf("journal row %d is damaged", d.Damage.Row), fmt.Sprintf("--at %d", at))
	says(t, b.Get(fmt.Sprintf("%s/fork?at=%d", page, at)), http.StatusOK, "pay may have touched the world outside already: its record is damaged", "book would touch the world outside a second time",
		fmt.Sprintf(`value="%d" selected`, at), "fails its checksum", "takes its recorded result")
	says(t, b.Get(fmt.Sprintf("%s/fork?at=%d", page, d.Damage.Row)), http.StatusOK, fmt.Sprintf("a fork cannot keep position %d", d.Damage.Row))
	says(t, b.Get("/api/v1/runs/"+run), http.StatusOK, `"damage":{"row":`+fmt.Sprint(d.Damage.Row), `"problem":"checksum"`)
	says(t, b.Get("/api/v1/runs/"+run+"/journal"), http.StatusOK, `"damage":"journal row `)
	says(t, b.Get(fmt.Sprintf("/api/v1/runs/%s/preview?action=fork&at=%d", run, at)), http.StatusOK, `"doubtful":true`, `"damage":`)

	form := b.Get(fmt.Sprintf("%s/fork?at=%d", page, at)).Hidden()
	for name, value := range map[string]string{"at": fmt.Sprint(at), "do": "act", "reason": "checked", "instead.pay#1": "stub", "stub.pay#1": `"found in the ledger"`, "instead.book#1": "recorded"} {
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
	says(t, b.Get(forked.Location+"?view=events"), http.StatusOK, "a person gave it the recorded result", "a person gave it a stub")
	says(t, b.Get(page), http.StatusOK, "fails its checksum", "/runs/"+next)
	form = b.Get(page + "/cancel").Hidden()
	form.Set("do", "act")
	form.Set("reason", "goes on as a fork")
	if p := b.Post(page+"/cancel", form); p.Code != http.StatusSeeOther {
		t.Errorf("cancel: %d %s", p.Code, words(p.Body))
	}
	says(t, b.Get(page), http.StatusOK, "fails its checksum", "Delete…")
}

// No step of a damaged run is shown at work: what the rows before the damage leave
// open is shown by what is known of it, what only rows behind it tell is there too,
// in the timeline, on the graph and in the inspector.
func TestNoStepOfADamagedRunIsAtWork(t *testing.T) {
	t.Parallel()
	site, run := damagedSite(t)
	b := site.Browser(t).Login()
	page := "/runs/" + run
	text := words(b.Get(page).Body)
	for _, want := range []string{"2 end unknown", "row 3, which would tell, is damaged", "by row 5, behind the damage", "it waited; what followed is damaged"} {
		if !strings.Contains(text, want) {
			t.Errorf("the timeline does not say %q:\n%s", want, text)
		}
	}
	for _, view := range []string{"", "?view=graph", "?view=graph&mode=ran", "?sort=took&critical=show&idle=show", "?step=pay", "?step=book", "?step=book&tab=input", "?view=log", "?view=handoffs"} {
		p := b.Get(page + view)
		if p.Code != http.StatusOK || strings.Contains(p.Body, "live-bar") || strings.Contains(words(p.Body), "It still runs.") || strings.Contains(words(p.Body), " running ") {
			t.Errorf("%s: %d: something is at work\n%s", view, p.Code, words(p.Body))
		}
		crawl(t, view, p.Body)
	}
	says(t, b.Get(page+"?step=book&tab=output"), http.StatusOK, "Not known: by row", "behind the damage.")
}
