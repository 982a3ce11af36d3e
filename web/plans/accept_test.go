package plans_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/webtest"
)

// A version that an API client requested has no draft, so its page links to the form that accepts
// it.
func TestAPlannedVersionIsAcceptedOnItsPage(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	made, _, _, _, err := site.Engine.SavePlan(
		t.Context(),
		site.Admin,
		[]byte("id: made\nnodes:\n  a:\n    type: log\n    input: hello\n"),
		planner.FormatYAML,
		"planner",
		"",
	)
	if err != nil {
		t.Fatal(err)
	}
	b := site.Browser(t).Login()
	webtest.Has(t, b.Get("/plans?state=draft"), "the list", "Made by programs", `href="/plans/made/v/1"`)
	page := b.Get("/plans/made/v/1")
	webtest.Has(t, page, "the version", "It runs only after a person accepts it.", "Accept as v1…", `href="/plans/made/v/1/accept"`)
	confirm := b.Get("/plans/made/v/1/accept")
	webtest.Has(t, confirm, "the question", "Accept as v1", "Only this version is accepted.")
	webtest.Safe(t, "accept", confirm.Body)
	f := webtest.Form(t, confirm.Body, `name="do"`)
	f.Set("reason", "read by two")
	if p := b.Post("/plans/made/v/1/accept", f); p.Code != http.StatusSeeOther || p.Location != "/plans/made" {
		t.Fatalf("got status %d, want %d: %s\n%s", p.Code, http.StatusSeeOther, p.Location, webtest.Text(p.Body))
	}
	stored, err := site.Store.Plan(t.Context(), made.ID)
	if err != nil || stored.Stage != domain.StageUsed {
		t.Errorf("%+v %v", stored, err)
	}
	if page := b.Get("/plans/made").Body; strings.Contains(page, "/v/1/accept") ||
		strings.Contains(page, "It runs only after a person accepts it.") {
		t.Error("an active version can be accepted")
	}
}
