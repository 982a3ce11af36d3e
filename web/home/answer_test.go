package home_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// answerButton matches the approve button on home.
var answerButton = regexp.MustCompile(`form="once-answer" formaction="(/approvals/[^"]+)" name="answer" value="approve"`)

// A request that home shows completely is decided there with one click. The next page confirms the
// decision and moves the focus to the next request. A repeated click decides once.
func TestARequestIsAnsweredOnHome(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, `
id: payout
nodes:
  order: {type: set, input: {vendor: "${input.vendor}"}}
  ask: {type: approval, input: {message: "Pay ${input.amount} euro?"}}
  paid: {type: log, input: paid}
edges: [{from: order, to: ask}, {from: ask, to: paid}]
`)
	site.Plan(t, "id: other\nnodes:\n  ask: {type: approval, input: {message: May we?}, metadata: {risk: 9 EUR}}\n")
	run := site.Run(t, "payout", `{"amount": 12, "vendor": "Acme"}`)
	site.Run(t, "other", `null`)
	b := site.Browser(t).Login()
	home := b.Get("/")
	webtest.Has(t, home, "home", "Pay 12 euro?", "<dt>amount</dt><dd>12</dd>", "<dt>vendor</dt><dd>Acme</dd>")
	if strings.Contains(home.Body, "order.vendor") {
		t.Error("the home page repeats a value of a previous step")
	}
	found := answerButton.FindAllStringSubmatch(home.Body, -1)
	if len(found) != 1 {
		t.Fatalf("%d requests can be decided on the home page; the risky one must not be", len(found))
	}
	form := url.Values{"csrf": {home.Hidden().Get("csrf")}, "idem": {"one"}, "answer": {"approve"}}
	address := html.UnescapeString(found[0][1])
	first, second := b.Post(address, form), b.Post(address, form)
	if first.Code != http.StatusSeeOther || !strings.HasPrefix(first.Location, "/?decided=") || second.Location != first.Location {
		t.Fatalf("got status %d, want %d: %s, status %d %s", first.Code, http.StatusSeeOther, first.Location, second.Code, second.Location)
	}
	if r, err := site.Engine.Wait(t.Context(), run.ID); err != nil || r.Status != domain.RunCompleted {
		t.Errorf("got run status %s, error %v", r.Status, err)
	}
	home = b.Get(first.Location)
	webtest.Has(t, home, "home", `id="done" role="status"`, `href="/runs/`+run.ID+`"`, "data-focus>May we?</a>")
	if strings.Contains(home.Body, "Pay 12 euro?</a></h3>") {
		t.Error("the request is still shown")
	}
}

// A request that home shows only in part links to its page instead.
func TestARequestThatShowsLessThanItsAnswerHoldsForIsNotAnsweredOnHome(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: ask\nnodes:\n  ask: {type: approval, input: {message: \"${input}\"}}\n")
	for _, input := range []string{
		`{"items": [` + strings.Repeat(`"a long list",`, 200) + `"end"]}`,
		`{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7}`,
		fmt.Sprintf(`{"text": %q}`, strings.Repeat("long ", 60)),
		`"a text"`,
	} {
		run := site.Run(t, "ask", input)
		b := site.Browser(t).Login()
		home := b.Get("/")
		if answerButton.MatchString(home.Body) {
			t.Errorf("%.60s can be decided on the home page", input)
		}
		webtest.Has(t, home, "home", ">Review<")
		if _, err := site.Engine.Act(t.Context(), site.Admin, domain.ActionRequest{Run: run.ID, Action: domain.ActionCancel}); err != nil {
			t.Fatal(err)
		}
	}
}
