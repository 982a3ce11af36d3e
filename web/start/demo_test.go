package start_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/demo"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// The page starts a demonstration, shows its progress, resolves the payment, and shows the result,
// all with plain forms.
func TestThePlugIsPulledFromThePage(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	f := webtest.Form(t, b.Get("/demo").Body, `action="/demo"`)
	f.Set("do", "unsafe")
	if p := b.Post("/demo", f); p.Code != http.StatusSeeOther || p.Location != "/demo" {
		t.Fatalf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	moving := b.Get("/demo")
	webtest.HasTexts(t, moving, http.StatusOK, `data-live="demo"`, `>Stop</button>`, `href="/demo">Reload`)
	webtest.HasTexts(t, b.Post("/demo", f), http.StatusSeeOther) // submitting the same form twice starts one demonstration
	f.Set("idem", "another")
	webtest.HasTexts(t, b.Post("/demo", f), http.StatusConflict, "A demonstration is in progress, started by marta")

	site.Demo.Set(webtest.DemoInDoubt())
	part := b.Do(webtest.Request(t, "GET", site.URL+"/demo", "", "HX-Request", "true", "HX-Target", "demo-progress",
		"Sec-Fetch-Site", "same-origin"))
	if part.Header.Get("HX-Refresh") != "true" {
		t.Error("a live page does not load the question")
	}
	asking := b.Get("/demo")
	webtest.HasTexts(t, asking, http.StatusOK, "Did the payment happen?", "a payment of 240 with the receipt r-1", "It happened",
		"It did not happen: run it again", "SIGKILL", "k1")
	if strings.Contains(asking.Body, `data-live="demo"`) {
		t.Error("a page with a question is live, so the question may disappear while in use")
	}
	f = webtest.Form(t, asking.Body, `action="/demo/answer"`)
	f.Set("do", "again")
	if p := b.Post("/demo/answer", f); p.Code != http.StatusSeeOther || p.Location != "/demo" {
		t.Fatalf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	webtest.HasTexts(t, b.Get("/demo"), http.StatusOK, "The run completed. The ledger has 1 payment.", `action="/demo"`)
	f.Set("idem", "late")
	webtest.HasTexts(t, b.Post("/demo/answer", f), http.StatusConflict, "No payment is in doubt")

	site.Demo.Set(demo.State{Phase: demo.Failed, Ended: time.Now(), Error: domain.Messagef("the demonstration was stopped")})
	webtest.HasTexts(t, b.Get("/demo"), http.StatusOK, "The demonstration ended early", "The demonstration was stopped")
}
