package home_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

// The page of failures lists every group with its first and last failure, its runs, and its
// actions. Chips filter by plan and code. An acknowledged failure moves to a separate list.
func TestFailuresAreListedByGroup(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	webtest.HasTexts(t, b.Get("/failures"), http.StatusOK, "No failures here.", "Open 0")
	site.Seed(t)
	site.Run(t, "ledger", `{"amount": 50}`)
	webtest.HasTexts(t, b.Get("/"), http.StatusOK, `href="/failures"`)
	p := b.Get("/failures")
	webtest.HasTexts(t, p, http.StatusOK, "Open 2", "ledger › post", "blocked", "2 runs", "First", "Resume 2…", "echo › fail",
		"Acknowledge all…", `data-live="attention"`)
	p = b.Get("/failures?plan=ledger")
	if w := webtest.Text(p.Body); !strings.Contains(w, "ledger › post") || strings.Contains(w, "echo › fail") {
		t.Errorf("filtered by plan, the page shows: %s", w)
	}
	if p := b.Get("/failures?code=" + url.QueryEscape("no_such")); !strings.Contains(p.Body, "No failures here.") {
		t.Error("an unused error code lists failures")
	}
	ack := "/failures/ack?plan=echo&node=fail&code=invalid_input"
	if p := b.Post("/failures/ack", webtest.Form(t, b.Get(ack).Body, `name="note"`)); p.Code != http.StatusSeeOther {
		t.Fatalf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	webtest.HasTexts(t, b.Get("/failures"), http.StatusOK, "Open 1", "Acknowledged 1")
	webtest.HasTexts(t, b.Get("/failures?show=acknowledged"), http.StatusOK, "invalid_input at fail", "Withdraw…")
}
