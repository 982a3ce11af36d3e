package run_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// A run is acknowledged with a note and resumed at a set time. Home and the page of the run show
// the note.
func TestOneRunIsHandedOverToTheNextShift(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	run := "/runs/" + seed.Failed.ID
	page := b.Get(run + "/ack")
	webtest.HasTexts(t, page, http.StatusOK, "Acknowledge run "+domain.ShortID(seed.Failed.ID), "Resume at", "post failed")
	form := page.Hidden()
	form.Set("note", "waiting for quota")
	form.Set("at", "2001-01-01T06:00")
	webtest.HasTexts(t, b.Post(run+"/ack", form), http.StatusUnprocessableEntity, "is past", "waiting for quota")
	form = page.Hidden()
	form.Set("idem", "second")
	form.Set("note", "waiting for quota")
	at := time.Now().UTC().Add(24 * time.Hour).Format("2006-01-02T15:04")
	form.Set("at", at)
	if p := b.Post(run+"/ack", form); p.Location != run {
		t.Fatalf("%d to %q: %s", p.Code, p.Location, webtest.Text(p.Body))
	}
	got, err := site.Store.Run(t.Context(), seed.Failed.ID)
	if err != nil || got.Attention || got.Status != domain.RunFailed {
		t.Errorf("%+v %v", got, err)
	}
	acts, err := site.Store.Bulks(t.Context(), 10)
	if err != nil || len(acts) != 1 || acts[0].Action != domain.ActionResume || acts[0].NotBefore.UTC().Format("2006-01-02T15:04") != at ||
		acts[0].Total != 1 {
		t.Errorf("%+v %v", acts, err)
	}
	webtest.HasTexts(t, b.Get(run), http.StatusOK, "waiting for quota")
	form = b.Get(run + "/ack").Hidden()
	if p := b.Post(run+"/ack", form); p.Location != run { // repeating the request changes nothing
		t.Errorf("acknowledged twice: %d %s", p.Code, p.Body)
	}
	webtest.HasTexts(t, b.Get("/runs/"+seed.Completed.ID+"/ack"), http.StatusOK, "it has not failed")

	// On the next visit, home shows notes of other operators, but not the user's own.
	paul := domain.Actor{Name: "paul", Role: domain.RoleOperator}
	if _, err := site.App.Runs.AddNote(t.Context(), app.NoteRequest{Meta: app.Meta{By: paul}, Run: seed.Completed.ID,
		Text: "look at the totals"}); err != nil {
		t.Fatal(err)
	}
	if err := site.App.Preferences.Set(t.Context(), app.Preference{Meta: app.Meta{By: site.Admin}, Key: "home visit",
		Value: "1000000"}); err != nil {
		t.Fatal(err)
	}
	home := b.Get("/")
	webtest.HasTexts(t, home, http.StatusOK, "Since you left", "look at the totals", "paul")
	if strings.Contains(home.Body, `hx-disable>waiting for quota`) {
		t.Error("marta is told what she wrote herself")
	}
}

// A scheduled run can be started immediately.
func TestAScheduledRunStartsNow(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Seed(t)
	b := site.Browser(t).Login()
	r, err := site.Engine.Start(
		t.Context(),
		site.Admin,
		domain.StartRequest{Plan: "ledger", Input: domain.RawJSON(`{"amount": 50, "currency": "EUR"}`), StartAt: time.Now().Add(time.Hour)},
	)
	if err != nil {
		t.Fatal(err)
	}
	webtest.HasTexts(t, b.Get("/runs/"+r.ID), http.StatusOK, "Start now", "Scheduled")
	form := b.Get("/runs/" + r.ID + "/start-now").Hidden()
	if p := b.Post("/runs/"+r.ID+"/start-now", form); p.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", p.Code, webtest.Text(p.Body))
	}
	if got, err := site.Engine.Wait(t.Context(), r.ID); err != nil || !got.Status.Final() {
		t.Errorf("%s %v", got.Status, err)
	}
	form.Set("idem", "again")
	if p := b.Post("/runs/"+r.ID+"/start-now", form); p.Code != http.StatusConflict {
		t.Errorf("a second time: %d", p.Code)
	}
}

// A preview shows the estimated time and cost if there are earlier runs.
func TestPreviewsSayWhatIsExpected(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	webtest.HasTexts(t, b.Get("/runs/"+seed.Completed.ID+"/rerun"), http.StatusOK, "Estimated time: ")
	webtest.HasTexts(t, b.Get("/bulk/new?do=rerun&run="+seed.Completed.ID), http.StatusOK, "Estimated time: ")
	site.Plan(t, `{id: fresh, nodes: {a: {type: approval, input: {message: "go?"}}, b: {type: set, needs: [a], input: 1}}}`)
	r := site.Run(t, "fresh", "null")
	if p := b.Get("/runs/" + r.ID + "/rerun"); strings.Contains(p.Body, "of work") {
		t.Error("no run came to an end, and yet something is expected")
	}
}
