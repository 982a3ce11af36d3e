package run_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// unansweredPayouts starts runs with three payments each, to which the bank does not respond. Each run
// has a bank of its own: more failures would open the circuit of the host.
func unansweredPayouts(t *testing.T, site *webtest.Site, runs int) (out []domain.Run) {
	t.Helper()
	site.Plan(t, `
id: payouts
nodes:
  list: {type: set, input: {items: [{to: ann, amount: 10}, {to: ben, amount: 20}, {to: cem, amount: 30}]}}
  pay:
    type: http
    effect: unsafe
    needs: [list]
    foreach: "${output.list.items}"
    input: {method: POST, url: "${input}/payments", body: "${item}"}
`)
	for range runs {
		bank := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
		t.Cleanup(bank.Close)
		out = append(out, site.Run(t, "payouts", strconv.Quote(bank.URL)))
	}
	return out
}

var doubtField = regexp.MustCompile(`name="doubt" value="([^"]+)"`)

// answerDoubts returns the filled form of a page with calls in doubt.
func answerDoubts(p webtest.Page, action string) url.Values {
	form := p.Hidden()
	for _, m := range doubtField.FindAllStringSubmatch(p.Body, -1) {
		form.Add("doubt", m[1])
	}
	form.Set("action", action)
	form.Set("output", "null")
	form.Set("reason", "the bank has them")
	return form
}

// The calls in doubt of one step are resolved together, in one run or in all runs of the plan. All
// of them are selected at first, and the page shows each outcome.
func TestCallsInDoubtAreDecidedTogether(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	runs := unansweredPayouts(t, site, 2)
	b := site.Browser(t).Login()
	of := "/doubts?node=pay&plan=payouts"
	page := b.Get("/runs/" + runs[0].ID)
	webtest.HasTexts(t, page, http.StatusOK, "A person states which of 3 calls of pay happened", "Decide all 3 together",
		strings.ReplaceAll(of+"&run="+runs[0].ID, "&", "&amp;"))
	webtest.HasTexts(t, b.Get("/approvals"), http.StatusOK, "Decide together", strings.ReplaceAll(of, "&", "&amp;"))
	webtest.HasTexts(t, b.Get(of), http.StatusOK, "6 calls in doubt", "pay [0]", "pay [2]", "ann", "Idempotency key")

	one := b.Get(of + "&run=" + runs[0].ID)
	webtest.HasTexts(t, one, http.StatusOK, "3 calls in doubt")
	form := answerDoubts(one, "happened")
	stale := form["doubt"][1]
	form["doubt"][1] = stale[:strings.LastIndex(stale, "/")] + "/0123456789abcdef0123456789abcdef"
	p := b.Post("/doubts", form)
	webtest.HasTexts(t, p, http.StatusConflict, "1 of 3 calls were not resolved", "it happened", "not decided",
		"It has changed since it was shown.", "1 call in doubt")
	form = answerDoubts(p, "happened")
	for range 2 { // the second time, the form is sent again
		webtest.HasTexts(t, b.Post("/doubts", form), http.StatusOK, "1 call resolved", "it happened", "pay")
	}
	settled(t, site, runs[0].ID)

	rest := b.Get(of)
	webtest.HasTexts(t, rest, http.StatusOK, "3 calls in doubt")
	webtest.HasTexts(t, b.Post("/doubts", answerDoubts(rest, "skip")), http.StatusOK, "3 calls resolved", "skipped")
	settled(t, site, runs[1].ID)
	webtest.HasTexts(t, b.Get(of), http.StatusOK, "No call of this step is in doubt.")
	form = answerDoubts(rest, "skip")
	form.Del("doubt")
	webtest.HasTexts(t, b.Post("/doubts", form), http.StatusUnprocessableEntity, "Choose at least one call.")
}

// settled waits until a run ends, and checks that it has completed.
func settled(t *testing.T, site *webtest.Site, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if run, err := site.Engine.Wait(ctx, id); err != nil || run.Status != domain.RunCompleted {
		t.Fatalf("run %s: %s %v", id, run.Status, err)
	}
}
