package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/web/webtest"
)

// A failure that somebody took note of leaves home, with who and why, and comes
// back when it fails anew.
func TestAFailureIsAcknowledgedAndComesBack(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	path := "/failures/ack?plan=ledger&node=post&code=" + seed.Failed.Error.Code
	if home := b.Get("/"); !strings.Contains(home.Body, strings.ReplaceAll("/failures/ack?code="+seed.Failed.Error.Code+"&node=post&plan=ledger", "&", "&amp;")) {
		t.Fatalf("home offers no acknowledgement:\n%s", home.Body)
	}
	before, err := site.Store.RunCounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	form := b.Get(path).Hidden()
	form.Set("note", "waiting for quota")
	first, second := b.Post("/failures/ack", form), b.Post("/failures/ack", form)
	if first.Location != "/" || second.Location != "/" {
		t.Fatalf("%d %s, %d %s", first.Code, first.Location, second.Code, second.Location)
	}
	after, err := site.Store.RunCounts(t.Context())
	if err != nil || after.NeedsAttention != before.NeedsAttention-1 || after.ByStatus[kairos.RunFailed] != before.ByStatus[kairos.RunFailed] {
		t.Errorf("%+v, then %+v, %v", before, after, err)
	}
	home := b.Get("/")
	for _, want := range []string{"1 failure is acknowledged", "waiting for quota", "marta", "Take back…"} {
		if !strings.Contains(home.Body, want) {
			t.Errorf("home does not say %q", want)
		}
	}
	if strings.Contains(home.Body, "post failed") {
		t.Error("home still shows the failure")
	}
	form.Set("idem", "again")
	if p := b.Post("/failures/ack", form); p.Code != http.StatusConflict {
		t.Errorf("acknowledged twice: %d", p.Code)
	}
	site.Run(t, "ledger", `{"amount": 50, "currency": "EUR"}`)
	if home = b.Get("/"); !strings.Contains(home.Body, "It is back: marta") || !strings.Contains(home.Body, "waiting for quota") {
		t.Error("the failure that came back does not say that it did")
	}
	form = b.Get("/failures/unack?plan=ledger&node=post&code=" + seed.Failed.Error.Code).Hidden()
	if p := b.Post("/failures/unack", form); p.Location != "/" {
		t.Fatalf("take back: %d", p.Code)
	}
	if home = b.Get("/"); !strings.Contains(home.Body, "Resume 2…") || strings.Contains(home.Body, "It is back") {
		t.Error("what was taken back is not whole again")
	}
	audit, err := site.Store.AuditEvents(t.Context(), kairos.AuditFilter{Action: "failure.ack"})
	if err != nil || len(audit.Items) != 1 || audit.Items[0].Reason != "waiting for quota" {
		t.Errorf("%+v %v", audit.Items, err)
	}
	checks, err := site.Store.Doctor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if c.Name == "counters" && len(c.Problems) > 0 {
			t.Error(c.Problems)
		}
	}
}

// Home tells what happened since the reader's last visit, and how the last day
// went, plan by plan.
func TestHomeTellsWhatHappenedMeanwhile(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	if err := site.Store.SetPreference(t.Context(), "marta", "home visit", "1000000"); err != nil { // a long time ago
		t.Fatal(err)
	}
	site.Seed(t)
	home := b.Get("/")
	for _, want := range []string{"Since you left", "1 run succeeded", "2 failed", "new: ", "Last 24 hours", "ledger: 0 succeeded, 1 failed in 24 hours", `fill="url(#hatch)"`} {
		if !strings.Contains(home.Body, want) {
			t.Errorf("home does not say %q", want)
		}
	}
	if again := b.Get("/"); !strings.Contains(again.Body, "Since you left") {
		t.Error("a second look takes it away")
	}
	// Who has never been here is told nothing of that.
	if err := site.Store.SetPreference(t.Context(), "marta", "home visit", ""); err != nil {
		t.Fatal(err)
	}
	if fresh := b.Get("/"); strings.Contains(fresh.Body, "Since you left") {
		t.Error("the first visit tells of one before it")
	}
}
