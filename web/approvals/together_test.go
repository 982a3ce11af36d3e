package approvals_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// togetherForm returns the form that decides all approvals of a page.
func togetherForm(t *testing.T, p webtest.Page) url.Values {
	t.Helper()
	f := webtest.Form(t, p.Body, `name="item"`)
	for _, name := range []string{"item", "digest"} {
		f.Del(name)
		for _, m := range regexp.MustCompile(`name="`+name+`" value="([^"]+)"`).FindAllStringSubmatch(p.Body, -1) {
			f.Add(name, m[1])
		}
	}
	return f
}

// Similar requests form one entry of the inbox. The form that decides all of them lists each. If
// one has changed since, the result lists which were decided and which were not.
func TestApprovalsAreDecidedTogether(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	site.Plan(t, "id: many\nnodes:\n  ask: {type: approval, metadata: {approve: Let go}, input: {message: \"Go on with ${input}?\"}}\n")
	var last domain.Approval
	for i := range 3 {
		last = openApproval(t, site, site.Run(t, "many", fmt.Sprint(i)).ID)
	}
	inbox := b.Get("/approvals")
	webtest.HasTexts(t, inbox, http.StatusOK, "3 similar requests", "Let go all…", "Go on with 2?")
	if n := strings.Count(inbox.Body, "<article"); n != 1 {
		t.Errorf("three similar requests are shown as %d entries, want 1", n)
	}
	webtest.HasTexts(t, b.Get("/approvals/"+last.ID), http.StatusOK, "Let go: all 3 like this…", "/approvals/bulk?answer=approve")
	p := b.Get("/approvals/bulk?plan=many&node=ask&answer=approve")
	webtest.HasTexts(t, p, http.StatusOK, "Let go: 3 approvals", "Go on with 0?", "Go on with 1?", "Go on with 2?")
	webtest.HasTexts(t, b.Get("/approvals/bulk?plan=many&node=ask&answer=other"), http.StatusUnprocessableEntity)
	f := togetherForm(t, p)
	if _, err := site.Engine.Decide(t.Context(), domain.Actor{Name: "otto", Role: domain.RoleOperator},
		domain.DecideRequest{Approval: f["item"][1], Comment: "no"}); err != nil {
		t.Fatal(err)
	}
	p = b.Post("/approvals/bulk", f)
	webtest.HasTexts(t, p, http.StatusConflict, "1 of 3 were not decided", "otto")
	if w := webtest.Text(p.Body); !strings.Contains(w, "approved Go on with 0? · Run") ||
		!strings.Contains(w, "not decided Go on with 1? · Run") {
		t.Errorf("the outcomes are not shown: %s", w)
	}
	list, err := site.Store.Approvals(t.Context(), domain.ApprovalFilter{Status: "approved"})
	if err != nil || len(list.Items) != 2 {
		t.Errorf("got %d approved requests, error %v", len(list.Items), err)
	}
}

// Requests decided together are confirmed individually, with links to their runs, on the page of
// the next request.
func TestRequestsDecidedTogetherAreConfirmedByName(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	site.Plan(t, "id: many\nnodes:\n  ask: {type: approval, input: {message: \"Go on with ${input}?\"}}\n")
	site.Plan(t, "id: other\nnodes:\n  ask: {type: approval, input: {message: Another?}}\n")
	one, two := site.Run(t, "many", "1"), site.Run(t, "many", "2")
	next := openApproval(t, site, site.Run(t, "other", "null").ID)
	f := togetherForm(t, b.Get("/approvals/bulk?plan=many&node=ask&answer=approve"))
	p := b.Post("/approvals/bulk", f)
	if p.Code != http.StatusSeeOther || !strings.HasPrefix(p.Location, "/approvals/"+next.ID+"?") {
		t.Fatalf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, p.Location)
	}
	if again := b.Post("/approvals/bulk", f); again.Location != p.Location {
		t.Errorf("the same form submitted again: status %d %s", again.Code, again.Location)
	}
	p = b.Get(p.Location)
	webtest.Has(t, p, "the confirmation", "2 requests decided", "Go on with 1?", "Go on with 2?", `href="/runs/`+one.ID+`"`,
		`href="/runs/`+two.ID+`"`, `id="decision" tabindex="-1" data-focus`)
}

// Requests with a risk label can be approved together only after the user confirms that they
// checked the risk.
func TestARiskIsConfirmedForAllTogether(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	site.Plan(t, "id: many\nnodes:\n  ask: {type: approval, metadata: {risk: 9 EUR}, input: {message: \"Pay ${input}?\"}}\n")
	first := openApproval(t, site, site.Run(t, "many", "1").ID)
	site.Run(t, "many", "2")
	p := b.Get("/approvals/bulk?plan=many&node=ask&answer=approve")
	webtest.HasTexts(t, p, http.StatusOK, "I have checked the risk: 9 EUR")
	if p := b.Get("/approvals/bulk?plan=many&node=ask&answer=reject"); strings.Contains(p.Body, "I have checked") {
		t.Error("a rejection asks for confirmation")
	}
	f := togetherForm(t, p)
	webtest.HasTexts(t, b.Post("/approvals/bulk", f), http.StatusUnprocessableEntity, "Confirm that you have checked the risk: 9 EUR")
	if a := openApproval(t, site, first.Run); a.Status != "pending" {
		t.Error("the request is already decided")
	}
	f.Set("confirm", "1")
	if p := b.Post("/approvals/bulk", f); p.Code != http.StatusSeeOther {
		t.Errorf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
}

// A request that requires neither a comment nor a confirmation is decided in the list with one
// click. The next page confirms the decision next to the next request.
func TestARequestIsAnsweredInTheInbox(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	site.Plan(t, "id: pay\nnodes:\n  ask: {type: approval, input: {message: \"Pay ${input.amount} euro?\"}}\n")
	site.Plan(t, "id: other\nnodes:\n  ask: {type: approval, input: {message: May we?}, metadata: {risk: 9 EUR}}\n")
	run := site.Run(t, "pay", `{"amount": 12}`)
	next := openApproval(t, site, site.Run(t, "other", "null").ID)
	inbox := b.Get("/approvals?show=all")
	webtest.Has(t, inbox, "the inbox", "<dt>amount</dt><dd>12</dd>")
	found := regexp.MustCompile(`formaction="(/approvals/[^"]+)" name="answer" value="(\w+)"`).FindAllStringSubmatch(inbox.Body, -1)
	i := slices.IndexFunc(found, func(m []string) bool { return m[2] == "approve" })
	if len(found) != 2 || i < 0 {
		t.Fatalf("got buttons %q; the risky request must have none", found)
	}
	form := url.Values{"csrf": {inbox.Hidden().Get("csrf")}, "idem": {"one"}, "answer": {"approve"}}
	p := b.Post(html.UnescapeString(found[i][1]), form)
	if p.Code != http.StatusSeeOther || !strings.HasPrefix(p.Location, "/approvals/"+next.ID+"?decided=") {
		t.Fatalf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, p.Location)
	}
	if r, err := site.Engine.Wait(t.Context(), run.ID); err != nil || r.Status != domain.RunCompleted {
		t.Errorf("got run status %s, error %v", r.Status, err)
	}
}
