package bulk_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/web/webtest"
)

// brokenService starts a service that fails until the returned function is called, and stores a
// plan that calls the service.
func brokenService(t *testing.T, site *webtest.Site) (mend func()) {
	t.Helper()
	var up atomic.Bool
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !up.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(service.Close)
	site.Plan(t, fmt.Sprintf("id: sync\nnodes:\n  push: {type: http, effect: read, input: {url: %q}}\n", service.URL))
	return func() { up.Store(true) }
}

// over waits until a bulk operation ends.
func over(t *testing.T, site *webtest.Site, address string) domain.Bulk {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; runtime.Gosched() {
		b, err := site.Bulk.Bulk(t.Context(), strings.TrimPrefix(address, "/bulk/"))
		if err != nil {
			t.Fatal(err)
		}
		if b.State.Final() {
			return b
		}
		if time.Now().After(end) {
			t.Fatalf("still %+v", b)
		}
	}
}

// An outage that fails 400 runs is one line on home. While the outage lasts, resuming them stops at
// the canary. Afterwards the same steps resume all runs: preview, canary, and the others.
func TestAnOutageOf400Runs(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	mend := brokenService(t, site)
	var runs []domain.Run
	for range 400 {
		r, err := site.Engine.Start(t.Context(), site.Admin, domain.StartRequest{Plan: "sync"})
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r)
	}
	for _, r := range runs {
		if _, err := site.Engine.Wait(t.Context(), r.ID); err != nil {
			t.Fatal(err)
		}
	}
	b := site.Browser(t).Login()
	home := b.Get("/")
	webtest.HasTexts(t, home, http.StatusOK, "1 problem in 400 runs", "Resume 400…")
	if n := strings.Count(home.Body, `<tr class="bad">`); n != 1 {
		t.Fatalf("the outage is shown as %d lines, want 1", n)
	}
	_, address, _ := strings.Cut(home.Body, `href="/bulk/new?`)
	address, _, _ = strings.Cut("/bulk/new?"+address, `"`)
	address = strings.ReplaceAll(address, "&amp;", "&")
	resume := func() domain.Bulk {
		t.Helper()
		preview := b.Get(address)
		webtest.HasTexts(t, preview, http.StatusOK, "matched as of", "that may change", "Not before")
		f := webtest.Form(t, preview.Body, `name="digest"`)
		f.Set("canary", "1")
		f.Set("reason", "the service is back")
		p := b.Post("/bulk", f)
		if p.Code != http.StatusSeeOther {
			t.Fatalf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, p.Body)
		}
		return over(t, site, p.Location)
	}
	if act := resume(); act.State != domain.BulkStopped || act.Acted != 1 || !strings.Contains(act.Note, "failed the same way") {
		t.Fatalf("operation during the outage: %+v", act)
	}
	webtest.HasTexts(t, b.Get("/"), http.StatusOK, "1 problem in 400 runs")
	mend()
	for _, link := range regexp.MustCompile(`href="(/agents/tools/http/enable\?host=[^"]*)"`).FindAllStringSubmatch(
		b.Get("/agents/tools/http").Body, -1) {
		at := strings.ReplaceAll(link[1], "&amp;", "&") // close the circuit instead of waiting for its cooldown
		if p := b.Post("/agents/tools/http/enable", webtest.Form(t, b.Get(at).Body, `name="host"`)); p.Code != http.StatusSeeOther {
			t.Fatalf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
		}
	}
	act := resume()
	if act.State != domain.BulkDone || act.Acted != 400 || act.Refused != 0 {
		t.Fatalf("operation after the outage: %+v", act)
	}
	for _, r := range runs {
		if got, err := site.Engine.Wait(t.Context(), r.ID); err != nil || got.Status != domain.RunCompleted {
			t.Fatalf("%s is %s: %v", r.ID, got.Status, err)
		}
	}
	webtest.HasTexts(t, b.Get("/"), http.StatusOK, "Nothing needs attention.")
	webtest.HasTexts(t, b.Get("/runs?q=bulk:"+act.ID), http.StatusOK, "400 match")
}

// Many runs are labeled, and acknowledged, by one operation with a preview.
func TestManyRunsAreLabelledAndAcknowledged(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	webtest.HasTexts(t, b.Get("/runs"), http.StatusOK, "Label…", "Acknowledge…")
	address := "/bulk/new?" + url.Values{"do": {"label"}, "q": {"plan:ledger,report"}}.Encode()
	f := webtest.Form(t, b.Get(address).Body, `name="labels"`)
	if p := b.Post("/bulk", f); p.Code != http.StatusUnprocessableEntity {
		t.Errorf("without labels: got status %d, want %d", p.Code, http.StatusUnprocessableEntity)
	}
	f.Set("labels", "case=4711 pin=yes")
	p := b.Post("/bulk", f)
	if p.Code != http.StatusSeeOther {
		t.Fatalf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, p.Body)
	}
	if act := over(t, site, p.Location); act.State != domain.BulkDone || act.Acted != 2 {
		t.Fatalf("%+v", act)
	}
	webtest.HasTexts(t, b.Get(p.Location), http.StatusOK, "case=4711 pin=yes", "Label 2 runs")
	if list := b.Get("/runs?q=" + url.QueryEscape("label.case=4711")); strings.Count(list.Body, `name="run"`) != 2 {
		t.Error("the labels select nothing")
	}
	if run, err := site.Store.Run(t.Context(), seed.Failed.ID); err != nil || run.Labels["env"] != "test" || run.Labels["pin"] != "yes" {
		t.Errorf("%v %v", run.Labels, err)
	}
	address = "/bulk/new?" + url.Values{"do": {"acknowledge"}, "q": {"is:attention"}}.Encode()
	preview := b.Get(address)
	webtest.HasTexts(t, preview, http.StatusOK, "Acknowledge 2 runs", "the run is waiting")
	f = webtest.Form(t, preview.Body, `name="digest"`)
	f.Set("reason", "known")
	if act := over(t, site, b.Post("/bulk", f).Location); act.State != domain.BulkDone || act.Acted != 2 {
		t.Fatalf("%+v", act)
	}
	if groups, err := site.Store.FailureGroups(t.Context(), 10); err != nil || len(groups) != 0 {
		t.Errorf("%+v %v", groups, err)
	}
	checks, err := recovery.Doctor(t.Context(), site.Store)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if len(c.Problems) > 0 && c.Name != "space" { // depends on the disk of the test machine
			t.Errorf("%s: %q", c.Name, c.Problems)
		}
	}
}
