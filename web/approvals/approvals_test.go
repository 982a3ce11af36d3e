package approvals_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

const refundPlan = `
id: payback
nodes:
  look: {type: set, input: {order: 4711, amount: 240}}
  ask:
    type: approval
    metadata: {approve: Approve refund, reject: Refuse refund, risk: "240 EUR"}
    input:
      message: "Refund order ${output.look.order}?"
      timeout: 20m
      form: {type: object, properties: {amount: {type: number, title: Amount, default: 240}}}
  pay: {type: http, input: {method: POST, url: "http://127.0.0.1:9/pay"}}
  sorry: {type: log}
edges:
  - {from: look, to: ask}
  - {from: ask, to: pay}
  - {from: ask, to: sorry, condition: failed}
`

func openApproval(t *testing.T, site *webtest.Site, run string) domain.Approval {
	t.Helper()
	list, err := site.Store.Approvals(t.Context(), domain.ApprovalFilter{Run: run, Status: "pending"})
	if err != nil || len(list.Items) != 1 {
		t.Fatal(list, err)
	}
	return list.Items[0]
}

// The page of an approval shows the request as the plan words it, its evidence, the predicted path
// of each answer, and earlier decisions.
func TestADecisionShowsWhereItLeads(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	site.Plan(t, refundPlan)
	a := openApproval(t, site, site.Run(t, "payback", "null").ID)
	path := "/approvals/" + a.ID
	webtest.HasTexts(t, b.Get("/approvals"), http.StatusOK, "Refund order 4711?", "240 EUR", "auto-reject in ", "payback")
	p := b.Get(path)
	webtest.HasTexts(
		t,
		p,
		http.StatusOK,
		"Approve refund",
		"Refuse refund",
		"240 EUR",
		"What happens next",
		"Output of look, the step before",
		"Side effects:",
		`data-key="approve"`,
		`data-key="reject"`,
	)
	if w := webtest.Text(p.Body); !strings.Contains(w, "Approve refund Next: pay · http") ||
		!strings.Contains(w, "Refuse refund Next: sorry · log") {
		t.Errorf("the predicted effects of the answers are missing: %s", w)
	}

	// The form shows changed values before it sends them.
	f := webtest.Form(t, p.Body, `name="digest"`)
	f.Set("f.amount", "200")
	f.Set("do", "check")
	webtest.HasTexts(t, b.Post(path, f), http.StatusOK, "Changes to the proposed arguments", "240", "200", `value="200"`)
	f.Del("do")
	f.Set("answer", "reject")
	f.Set("comment", "too much")
	if p := b.Post(path, f); p.Code != http.StatusSeeOther || p.Location != "/approvals?decided="+a.ID {
		t.Fatalf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, p.Location)
	}
	webtest.HasTexts(t, b.Get(path), http.StatusOK, "rejected", "too much", "marta")

	second := openApproval(t, site, site.Run(t, "payback", "null").ID)
	webtest.HasTexts(t, b.Get("/approvals/"+second.ID), http.StatusOK, "Last 1: 0 approved", "too much")
	webtest.HasTexts(t, b.Get("/approvals?show=decided"), http.StatusOK, "Refund order 4711?", "rejected")

	// The approval of a cancelled run can no longer be decided.
	gone := openApproval(t, site, site.Run(t, "payback", "null").ID)
	late := webtest.Form(t, b.Get("/approvals/"+gone.ID).Body, `name="digest"`)
	late.Set("answer", "approve")
	if _, err := site.Engine.Act(t.Context(), site.Admin, domain.ActionRequest{Run: gone.Run, Action: domain.ActionCancel,
		Reason: "not needed"}); err != nil {
		t.Fatal(err)
	}
	if _, err := site.Engine.Wait(t.Context(), gone.Run); err != nil {
		t.Fatal(err)
	}
	webtest.HasTexts(t, b.Post("/approvals/"+gone.ID, late), http.StatusConflict, "Changed since you looked", "cancelled")

	// If another user has decided in the meantime, the page shows the new state and nothing is
	// changed.
	stale := webtest.Form(t, b.Get("/approvals/"+second.ID).Body, `name="digest"`)
	if _, err := site.Engine.Decide(t.Context(), domain.Actor{Name: "otto", Role: domain.RoleOperator},
		domain.DecideRequest{Approval: second.ID, Comment: "no"}); err != nil {
		t.Fatal(err)
	}
	stale.Set("answer", "approve")
	webtest.HasTexts(
		t,
		b.Post("/approvals/"+second.ID, stale),
		http.StatusConflict,
		"Changed since you looked",
		"otto",
		"The current state follows.",
	)
}

// A comment is optional, also for rejections, as in the API and the CLI.
func TestARejectionNeedsNoComment(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	site.Plan(t, "id: many\nnodes:\n  ask: {type: approval, input: {message: \"Go on with ${input}?\"}}\n")
	one := openApproval(t, site, site.Run(t, "many", "1").ID)
	path := "/approvals/" + one.ID
	f := webtest.Form(t, b.Get(path).Body, `name="digest"`)
	f.Set("answer", "reject")
	if p := b.Post(path, f); p.Code != http.StatusSeeOther {
		t.Fatalf("one: got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	webtest.HasTexts(t, b.Get(path), http.StatusOK, "rejected")
	all := openApproval(t, site, site.Run(t, "many", "2").ID)
	f = webtest.Form(t, b.Get("/approvals/bulk?plan=many&node=ask&answer=reject").Body, `name="item"`)
	if p := b.Post("/approvals/bulk", f); p.Code != http.StatusSeeOther {
		t.Fatalf("all: got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	webtest.HasTexts(t, b.Get("/approvals/"+all.ID), http.StatusOK, "rejected")
}

// The page has a button for each answer that the plan declares.
func TestAnApprovalHasAButtonForEachAnswer(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	site.Plan(t, `id: choose
nodes:
  ask:
    type: approval
    input:
      message: "Refund?"
      answers: [{id: none, label: Refuse it, kind: reject}, {id: full, label: Pay all, kind: approve}, {id: half, label: <b>Pay half</b>, kind: choice}]
  out: {type: set, input: "${last.answer}"}
edges: [{from: ask, to: out}]
`)
	run := site.Run(t, "choose", "null")
	path := "/approvals/" + openApproval(t, site, run.ID).ID
	page := b.Get(path)
	for _, want := range []string{`class="btn pri" type="submit" name="answer" value="full" data-key="approve">Pay all</button>`,
		`class="btn" type="submit" name="answer" value="half" data-key="">&lt;b&gt;Pay half&lt;/b&gt;</button>`,
		`class="btn bad" type="submit" name="answer" value="none" data-key="reject">Refuse it</button>`} {
		if !strings.Contains(page.Body, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	f := webtest.Form(t, page.Body, `name="digest"`)
	f.Set("answer", "other")
	webtest.HasTexts(t, b.Post(path, f), http.StatusUnprocessableEntity, "answers: none, full, half")
	f.Set("answer", "half")
	if p := b.Post(path, f); p.Code != http.StatusSeeOther {
		t.Fatalf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	webtest.HasTexts(t, b.Get(path), http.StatusOK, "approved", "Pay half")
	if r, err := site.Engine.Wait(t.Context(), run.ID); err != nil || string(r.Output) != `"half"` {
		t.Errorf("the run returned %s, error %v", r.Output, err)
	}
}

// An assigned approval disappears from the inboxes of other users.
func TestAnApprovalIsAssigned(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	if _, err := site.Auth.CreateUser(t.Context(), site.Admin, "otto", webtest.Password, domain.RoleOperator); err != nil {
		t.Fatal(err)
	}
	if _, err := site.Auth.CreateUser(t.Context(), site.Admin, "vera", webtest.Password, domain.RoleViewer); err != nil {
		t.Fatal(err)
	}
	otto, vera := site.Browser(t), site.Browser(t)
	otto.LoginAs("otto", webtest.Password)
	vera.LoginAs("vera", webtest.Password)
	site.Plan(t, refundPlan)
	a := openApproval(t, site, site.Run(t, "payback", "null").ID)
	path := "/approvals/" + a.ID
	f := webtest.Form(t, b.Get(path).Body, `name="assignee"`)
	f.Set("assignee", "otto")
	f.Set("reason", "knows the customer")
	if p := b.Post(path+"/assign", f); p.Code != http.StatusSeeOther {
		t.Fatal(p.Code, webtest.Text(p.Body))
	}
	webtest.HasTexts(t, b.Get("/approvals"), http.StatusOK, "Nothing waits for you. 1 waits for others.")
	webtest.HasTexts(t, b.Get("/approvals?show=all"), http.StatusOK, "Refund order 4711?", "otto")
	webtest.HasTexts(t, otto.Get("/approvals"), http.StatusOK, "Refund order 4711?")
	webtest.HasTexts(t, otto.Get("/approvals?show=assigned"), http.StatusOK, "Refund order 4711?")
	f.Set("idem", "another")
	f.Set("assignee", "")
	webtest.HasTexts(t, b.Post(path+"/assign", f), http.StatusConflict,
		"Changed since you looked") // assigned since the form was made
	p := vera.Get(path)
	webtest.HasTexts(t, p, http.StatusOK, "Only operators decide")
	if strings.Contains(p.Body, `name="answer"`) {
		t.Error("the buttons are visible to a viewer")
	}
	webtest.HasTexts(t, b.Get("/audit?q=action:approval.assign"), http.StatusOK, "knows the customer")
}

// A user requests changes to a tool call. The agent reads the comment and continues.
func TestChangesAreRequestedFromAnAgent(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	site.Plan(t, "id: careful\nnodes:\n  ask: {type: approval, input: {message: \"Sure?\"}}\n")
	a := openApproval(t, site, site.Run(t, "careful", "null").ID)
	f := webtest.Form(t, b.Get("/approvals/"+a.ID).Body, `name="digest"`)
	if p := b.Get("/approvals/" + a.ID); strings.Contains(p.Body, `value="ask"`) {
		t.Error("changes can be requested for a plan")
	}
	f.Set("do", "ask")
	f.Set("comment", "who wants that?")
	webtest.HasTexts(t, b.Post("/approvals/"+a.ID, f), http.StatusUnprocessableEntity,
		"Only approval requests of agents support request_changes")
	f.Set("comment", "")
	webtest.HasTexts(t, b.Post("/approvals/"+a.ID, f), http.StatusUnprocessableEntity, "Enter your question or the change that you want.")
}

// The inbox is sorted by deadline across its pages. Approvals without a deadline come last, oldest
// first.
func TestTheInboxIsInOrder(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	for _, timeout := range []string{"", "3h", "1h", "2h", ""} {
		extra := ""
		if timeout != "" {
			extra = ", timeout: " + timeout
		}
		key := fmt.Sprintf("p%d", time.Now().UnixNano())
		site.Plan(t, fmt.Sprintf("id: %s\nnodes:\n  ask: {type: approval, input: {message: \"wait %s\"%s}}\n", key, timeout, extra))
		site.Run(t, key, "null")
	}
	var seen []string
	next := "/approvals?n=2"
	for range 4 {
		p := b.Get(next)
		for _, m := range regexp.MustCompile(`class="go" href="[^"]+"[^>]*>wait ([^<]*)<`).FindAllStringSubmatch(p.Body, -1) {
			seen = append(seen, m[1])
		}
		m := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(p.Body)
		if m == nil {
			break
		}
		u, err := url.Parse(strings.ReplaceAll(m[1], "&amp;", "&"))
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		q.Set("n", "2")
		next = u.Path + "?" + q.Encode()
	}
	if got := strings.Join(seen, "|"); got != "1h|2h|3h||" {
		t.Errorf("got order %q", got)
	}
	if n, err := site.Store.ApprovalsCount(context.Background(), domain.ApprovalFilter{}, 10); err != nil || n != 5 {
		t.Errorf("%d %v", n, err)
	}
}

// The inbox also contains steps in doubt and runs that reached a limit. A form filters the inbox by
// plan or agent, without scripts.
func TestTheInboxIsNarrowed(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	site.Plan(
		t,
		"id: greedy\nlimits: {max_steps: 1}\nnodes:\n  a: {type: set, input: 1}\n  b: {type: set, input: 2}\nedges: [{from: a, to: b}]\n",
	)
	over := site.Run(t, "greedy", "null")
	if over.WaitReason != domain.WaitBudget {
		t.Fatalf("%+v", over)
	}
	site.Plan(t, refundPlan)
	site.Run(t, "payback", "null")
	p := b.Get("/approvals")
	webtest.HasTexts(
		t,
		p,
		http.StatusOK,
		"Refund 240?",
		"Refund order 4711?",
		"Did the call of pay happen?",
		"/runs/"+seed.InDoubt.ID,
		"Waiting for budget",
		"May it continue?",
		"/runs/"+over.ID,
		`<option value="payback">`,
	)
	p = b.Get("/approvals?show=all&plan=payback")
	webtest.HasTexts(t, p, http.StatusOK, "Refund order 4711?", `name="plan" list="plans" value="payback"`, `name="show" value="all"`)
	for _, other := range []string{"Refund 240?", "Did the call of pay happen?", "May it continue?"} {
		if strings.Contains(p.Body, other) {
			t.Errorf("filtered by plan, the page shows %q", other)
		}
	}
	webtest.HasTexts(t, b.Get("/approvals?plan=greedy"), http.StatusOK, "May it continue?", "Raise the limit…")
	p = b.Get("/approvals?agent=nobody")
	webtest.HasTexts(t, p, http.StatusOK, "No approval of this plan or agent is here.")
	if strings.Contains(p.Body, "May it continue?") {
		t.Error("a run over its budget is shown as a request of an agent")
	}
}

// After a decision, the next request is shown. The page confirms the decision with a link to its
// run, announces it, and moves the focus to the next request. An address cannot confirm a decision
// that the user did not make.
func TestADecisionIsConfirmedBesideTheNextRequest(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	site.Plan(t, refundPlan)
	first, next := openApproval(t, site, site.Run(t, "payback", "null").ID), openApproval(t, site, site.Run(t, "payback", "null").ID)
	if p := b.Get("/approvals/" + next.ID + "?decided=" + first.ID); strings.Contains(p.Body, `id="done"`) {
		t.Error("a confirmation is shown without a decision")
	}
	f := webtest.Form(t, b.Get("/approvals/"+first.ID).Body, `name="digest"`)
	f.Set("answer", "reject")
	p := b.Post("/approvals/"+first.ID, f)
	if p.Code != http.StatusSeeOther || !strings.HasPrefix(p.Location, "/approvals/"+next.ID+"?") {
		t.Fatalf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, p.Location)
	}
	p = b.Get(p.Location)
	webtest.Has(t, p, "the confirmation", `id="done" role="status"`, `href="/runs/`+first.Run+`"`, `href="/approvals/`+first.ID+
		`"`, "rejected")
	if strings.Count(p.Body, `id="done"`) != 1 || !strings.Contains(p.Body, `id="decision" tabindex="-1" data-focus`) {
		t.Error("the confirmation is shown twice, or the next request does not get the focus")
	}
}

// A request with a risk label can be approved only after the user confirms that they checked the
// risk. A rejection requires no confirmation.
func TestARiskIsConfirmedFirst(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	site.Plan(t, refundPlan)
	a := openApproval(t, site, site.Run(t, "payback", "null").ID)
	path := "/approvals/" + a.ID
	p := b.Get(path)
	webtest.HasTexts(t, p, http.StatusOK, "I have checked the risk: 240 EUR", `<span class="tag need">240 EUR</span>`)
	f := webtest.Form(t, p.Body, `name="digest"`)
	f.Set("answer", "approve")
	webtest.HasTexts(t, b.Post(path, f), http.StatusUnprocessableEntity, "Confirm that you have checked the risk: 240 EUR")
	if still := openApproval(t, site, a.Run); still.Status != "pending" {
		t.Errorf("a decision without confirmation was recorded: %s", still.Status)
	}
	f.Set("confirm", "1")
	if p := b.Post(path, f); p.Code != http.StatusSeeOther {
		t.Errorf("a decision with confirmation: got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
}
