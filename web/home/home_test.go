package home_test

import (
	"errors"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/web/webtest"
)

// An acknowledged failure disappears from home, is listed with its user and note, and returns when
// it recurs.
func TestAFailureIsAcknowledgedAndComesBack(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	path := "/failures/ack?plan=ledger&node=post&fingerprint=" + seed.Failed.Fingerprint + "&code=" + seed.Failed.Error.Code
	if home := b.Get("/"); !strings.Contains(
		home.Body,
		strings.ReplaceAll(
			"/failures/ack?code="+seed.Failed.Error.Code+"&fingerprint="+seed.Failed.Fingerprint+"&node=post&plan=ledger",
			"&",
			"&amp;",
		),
	) {
		t.Fatalf("the home page has no Acknowledge button:\n%s", home.Body)
	}
	before, err := site.Store.RunCounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	form := b.Get(path).Hidden()
	form.Set("note", "waiting for quota")
	first, second := b.Post("/failures/ack", form), b.Post("/failures/ack", form)
	if first.Location != "/" || second.Location != "/" {
		t.Fatalf("status %d %s, status %d %s", first.Code, first.Location, second.Code, second.Location)
	}
	after, err := site.Store.RunCounts(t.Context())
	if err != nil || after.NeedsAttention != before.NeedsAttention-1 ||
		after.ByStatus[domain.RunFailed] != before.ByStatus[domain.RunFailed] {
		t.Errorf("%+v, then %+v, %v", before, after, err)
	}
	home := b.Get("/")
	for _, want := range []string{"1 failure is acknowledged", "waiting for quota", "marta", "Withdraw…"} {
		if !strings.Contains(home.Body, want) {
			t.Errorf("the home page does not contain %q", want)
		}
	}
	if strings.Contains(home.Body, "/runs/"+seed.Failed.ID+"/resume") {
		t.Error("the home page still shows the failure")
	}
	form.Set("idem", "again")
	if p := b.Post("/failures/ack", form); p.Code != http.StatusSeeOther { // a repeated request changes nothing
		t.Errorf("acknowledging an acknowledged failure: got status %d, want %d", p.Code, http.StatusSeeOther)
	}
	site.Run(t, "ledger", `{"amount": 50, "currency": "EUR"}`)
	if home = b.Get("/"); !strings.Contains(home.Body, "It failed again after marta") || !strings.Contains(home.Body, "waiting for quota") {
		t.Error("a failure that occurred again is not marked")
	}
	form = b.Get("/failures/unack?plan=ledger&node=post&fingerprint=" + seed.Failed.Fingerprint + "&code=" + seed.Failed.Error.Code).
		Hidden()
	if p := b.Post("/failures/unack", form); p.Location != "/" {
		t.Fatalf("undo: status %d", p.Code)
	}
	if home = b.Get("/"); !strings.Contains(home.Body, "Resume 2…") || strings.Contains(home.Body, "It failed again after") {
		t.Error("the failure is not shown completely after undoing")
	}
	audit, err := site.Store.AuditEvents(t.Context(), domain.AuditFilter{Action: "failure.acknowledge"})
	if err != nil || len(audit.Items) != 1 || audit.Items[0].Reason != "waiting for quota" {
		t.Errorf("%+v %v", audit.Items, err)
	}
	checks, err := recovery.Doctor(t.Context(), site.Store)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if c.Name == "counters" && len(c.Problems) > 0 {
			t.Error(c.Problems)
		}
	}
}

// Home lists activity since the user's last visit, and the results of the last 24 hours by plan.
func TestHomeShowsActivitySinceTheLastVisit(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	if err := site.App.Preferences.Set(t.Context(), app.Preference{Meta: app.Meta{By: site.Admin}, Key: "home visit",
		Value: "1000000"}); err != nil { // a visit long ago
		t.Fatal(err)
	}
	site.Seed(t)
	home := b.Get("/")
	for _, want := range []string{"Since you left", "1 run completed", "2 failed", "new: ", "Runs by half hour",
		"ledger: 0 completed, 1 failed in 24 hours", `fill="url(#hatch)"`} {
		if !strings.Contains(home.Body, want) {
			t.Errorf("the home page does not contain %q", want)
		}
	}
	if again := b.Get("/"); !strings.Contains(again.Body, "Since you left") {
		t.Error("reloading removes the section")
	}
	// The first visit shows no activity.
	if err := site.App.Preferences.Set(t.Context(), app.Preference{Meta: app.Meta{By: site.Admin}, Key: "home visit",
		Value: ""}); err != nil {
		t.Fatal(err)
	}
	if fresh := b.Get("/"); strings.Contains(fresh.Body, "Since you left") {
		t.Error("the first visit shows a previous visit")
	}
}

// If a section cannot be read, the others are shown. The section shows an error with a retry link,
// and recovers on the next refresh.
func TestAFailedSectionLeavesTheOthers(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Seed(t)
	b := site.Browser(t).Login()
	site.System.Fail(errors.New("the disk does not answer"))
	home := b.Get("/")
	webtest.HasTexts(
		t,
		home,
		http.StatusOK,
		"This part could not be read.",
		"Try again",
		"2 problems in 2 runs",
		"1 approval", "Oldest: ",
		"ledger: 0 completed, 1 failed",
	)
	if strings.Contains(home.Body, "the disk does not answer") {
		t.Error("the page shows a cause that belongs in the log")
	}
	ask := func(id, version string) webtest.Page {
		t.Helper()
		req := webtest.Request(t, http.MethodGet, site.URL+"/?v="+version, "", "HX-Request", "true", "HX-Target", id)
		return b.Do(req)
	}
	if p := ask("system", ""); p.Code != http.StatusOK || !strings.Contains(p.Body, "This part could not be read.") ||
		strings.Contains(p.Body, "<html") {
		t.Errorf("the section as a fragment: got status %d, want %d: %s", p.Code, http.StatusOK, p.Body)
	}
	site.System.Fail(nil)
	p := ask("system", "")
	webtest.HasTexts(t, p, http.StatusOK, "checkpoints p95 4 ms", "no backups configured")
	// Unchanged content is not sent again.
	at := regexp.MustCompile(`hx-get="/\?v=([a-z0-9]+)"`).FindStringSubmatch(p.Body)
	if at == nil {
		t.Fatalf("the section has no version: %s", p.Body)
	}
	if again := ask("system", at[1]); again.Code != http.StatusNoContent {
		t.Errorf("an unchanged section: got status %d, want %d", again.Code, http.StatusNoContent)
	}
	if p := ask("attention", "old"); p.Code != http.StatusOK || !strings.HasPrefix(p.Body, `<section id="attention"`) {
		t.Errorf("a section as a fragment: got status %d, want %d: %.80s", p.Code, http.StatusOK, p.Body)
	}
}

// A failure that began with a version of a plan names the version and links to its changes.
func TestAFailureIsNewSinceAVersion(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	site.Plan(t, "id: sync\nnodes:\n  a: {type: set, input: 1}\n")
	site.Run(t, "sync", "null")
	site.Plan(t, "id: sync\nnodes:\n  a: {type: json, input: {value: 1, path: \"[\"}}\n")
	site.Run(t, "sync", "null")
	webtest.HasTexts(
		t,
		b.Get("/"),
		http.StatusOK,
		"new since v2",
		"marta",
		"Compare v1..v2",
		`href="/plans/sync/diff/1/2"`,
		"last success",
		"1 problem in 1 run",
	)
	// A plan that never succeeded has no such version.
	site.Plan(t, "id: never\nnodes:\n  a: {type: json, input: {value: 1, path: \"[\"}}\n")
	site.Run(t, "never", "null")
	if home := b.Get("/"); strings.Count(home.Body, "new since") != 1 {
		t.Error("a failure of a plan that never succeeded is marked as new")
	}
}

// One note acknowledges all failures that the form showed, and no others.
func TestAllFailuresAreAcknowledgedAtOnce(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Seed(t)
	b := site.Browser(t).Login()
	webtest.HasTexts(t, b.Get("/"), http.StatusOK, "Acknowledge all…", "/failures/ack?all=1")
	shown := b.Get("/failures/ack?all=1")
	webtest.HasTexts(t, shown, http.StatusOK, "Acknowledge 2 failures")
	f := webtest.Form(t, shown.Body, "Acknowledge 2 failures")
	for _, m := range regexp.MustCompile(`name="group" value="([^"]*)"`).FindAllStringSubmatch(shown.Body, -1) {
		f.Add("group", html.UnescapeString(m[1]))
	}
	if len(f["group"]) != 2 {
		t.Fatalf("got form group %q", f["group"])
	}
	f.Set("note", "known since yesterday")
	if p := b.Post("/failures/ack", f); p.Location != "/" {
		t.Fatalf("status %d %s", p.Code, p.Body)
	}
	webtest.HasTexts(t, b.Get("/"), http.StatusOK, "2 failures are acknowledged", "known since yesterday")
	f.Set("idem", "again")
	if p := b.Post("/failures/ack", f); p.Code != http.StatusSeeOther { // a repeated request changes nothing
		t.Errorf("acknowledging an acknowledged failure: got status %d, want %d", p.Code, http.StatusSeeOther)
	}
}

// On a server without runs, home lists the getting-started steps. A user can dismiss the list.
func TestHomeOfAnEmptyServer(t *testing.T) {
	t.Parallel()
	b := webtest.New(t).Browser(t).Login()
	page := b.Get("/")
	webtest.HasTexts(t, page, http.StatusOK, "Nothing has run here yet", "Create your first plan", "First steps", "Run an example plan",
		"Decide an approval request", "Break a run and resume it", "Pull the plug", "Connect a model")
	if p := b.Post("/first-steps", webtest.Form(t, page.Body, "Dismiss")); p.Code != http.StatusSeeOther {
		t.Fatalf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, p.Body)
	}
	if p := b.Get("/"); strings.Contains(p.Body, "First steps") {
		t.Error("a dismissed list is shown again")
	}
}
