package signals_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

const order = `id: order
nodes:
  paid: {wait: {event: paid.42, key: eur}}
  ship: {wait: {event: shipped.42, timeout: 2d}, needs: [paid]}
`

// send fills in the form that sends a signal, and follows the redirect.
func send(t *testing.T, b *webtest.Browser, page string, fields ...string) webtest.Page {
	t.Helper()
	f := webtest.Form(t, b.Get(page).Body, `name="keep"`)
	for i := 0; i+1 < len(fields); i += 2 {
		f.Set(fields[i], fields[i+1])
	}
	p := b.Post("/events/signals/new", f)
	if p.Code != http.StatusSeeOther {
		return p
	}
	return b.Get(p.Header.Get("Location"))
}

// The page of a run that waits for a signal links to the form that sends it, with its name. The signal ends
// the wait.
func TestASignalIsSentFromTheRun(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, order)
	b := site.Browser(t).Login()
	webtest.HasTexts(t, b.Get("/events/waits"), http.StatusOK, "No step waits for a signal.")
	run := site.Awaits(t, "order")
	const form = "/events/signals/new?key=eur&name=paid.42"
	link := `href="` + strings.ReplaceAll(form, "&", "&amp;") + `"`
	webtest.HasTexts(t, b.Get("/events/waits"), http.StatusOK, "paid.42", "eur", "/runs/"+run.ID, "/plans/order", link)
	webtest.HasTexts(t, b.Get("/events/waits?q=other"), http.StatusOK, "No step waits for a signal whose name contains this.")
	webtest.HasTexts(t, b.Get("/runs/"+run.ID), http.StatusOK, link, "The signal paid.42")
	webtest.HasTexts(t, b.Get("/runs/"+run.ID+"?step=paid&tab=output"), http.StatusOK, link, "Send the signal paid.42")
	webtest.HasTexts(t, b.Get(form), http.StatusOK, `value="paid.42"`, `value="eur"`)
	sent := send(t, b, form, "name", "paid.42", "key", "eur", "data", `{"amount": 12}`)
	webtest.HasTexts(t, sent, http.StatusOK, "Signal sent.", "matched", "amount", "/runs/"+run.ID, "paid", "marta")
	webtest.HasTexts(t, b.Get("/events/signals?status=matched"), http.StatusOK, "paid.42", "/runs/"+run.ID)
	webtest.HasTexts(t, b.Get("/events/waits?q=ship"), http.StatusOK, "shipped.42")
}

// The pages of signals and waits are reloaded after events.
func TestSignalsAreLive(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, order)
	b := site.Browser(t).Login()
	run := site.Awaits(t, "order")
	webtest.HasTexts(t, b.Fragment(t, "/events/waits", "waits"), http.StatusOK, `data-live="runs"`, "paid.42", run.ID)
	x, err := site.App.Signals.Send(t.Context(), app.NewSignal{Meta: app.Meta{By: site.Admin}, Name: "early.1"})
	if err != nil {
		t.Fatal(err)
	}
	webtest.HasTexts(t, b.Fragment(t, "/events/signals?status=waiting", "signals"), http.StatusOK, `data-live="runs"`, "early.1")
	part := b.Fragment(t, "/events/signals/"+x.ID, "signal")
	webtest.HasTexts(t, part, http.StatusOK, `data-live="runs"`, "kept")
	if strings.Contains(part.Body, "<main") || strings.Contains(part.Body, `id="data"`) {
		t.Error("the region is more than the state of the signal")
	}
}

// The list shows signals that no step waited for: kept ones, and expired ones as unmatched.
func TestKeptAndUnmatchedSignals(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	webtest.HasTexts(t, b.Get("/events/signals"), http.StatusOK, "There is none yet.", "Send a signal…")
	webtest.HasTexts(t, send(t, b, "/events/signals/new", "name", "early.1", "keep", "7d"), http.StatusOK, "kept",
		"No step waits for this signal yet.")
	webtest.HasTexts(t, b.Get("/events/signals?status=waiting&q=EARLY"), http.StatusOK, "early.1", "until")
	webtest.HasTexts(t, b.Get("/events/signals?q=other"), http.StatusOK, "No signal has a name that contains this.")
	x, err := site.App.Signals.Send(t.Context(), app.NewSignal{Meta: app.Meta{By: site.Admin}, Name: "gone.1", Lifetime: time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	webtest.HasTexts(t, b.Get("/events/signals?status=unmatched"), http.StatusOK, "gone.1", "unmatched")
	webtest.HasTexts(t, b.Get("/events/signals/"+x.ID), http.StatusOK, "It has no effect.")
	webtest.HasTexts(t, b.Get("/events/signals/none"), http.StatusNotFound)
	webtest.HasTexts(t, b.Get("/events/signals?after=x"), http.StatusUnprocessableEntity, "first page")
	webtest.HasTexts(t, b.Get("/events/waits?after=x"), http.StatusUnprocessableEntity, "first page")
}

// E01: a rejected form keeps the typed values, and shows the reason.
func TestARejectedSignal(t *testing.T) {
	t.Parallel()
	b := webtest.New(t).Browser(t).Login()
	for _, bad := range [][3]string{
		{"name", "", "empty"}, {"name", "a\u202eb", "Invalid name"}, {"key", strings.Repeat("k", 300), "Invalid key"},
		{"data", "{", "JSON"},
		{"data", `"` + strings.Repeat("x", domain.MaxSignalData) + `"`, "KiB"}, {"keep", "soon", "soon"}, {"keep", "90d", "30 days"},
		{"keep", "-1h", "-1h"},
	} {
		p := send(t, b, "/events/signals/new", "name", "n", "data", "1", bad[0], bad[1])
		webtest.HasTexts(t, p, http.StatusUnprocessableEntity, `role="alert"`, bad[2], "Send a signal")
	}
}
