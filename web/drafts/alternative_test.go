package drafts_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// An alternative is accepted instead of the proposed plan. It becomes a version of the same plan,
// the audit log records its kind, and the next run contains only its steps.
func TestAnAlternativeIsAcceptedInsteadOfThePlan(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	at, page, proposed := ask(t, site, b, "brew the tea")
	if len(proposed.Steps) != 2 || len(proposed.Unsafe) != 1 {
		t.Fatalf("%+v", proposed)
	}
	webtest.Has(
		t,
		page,
		"the draft",
		"Alternatives",
		"Cheaper, with only the requested steps",
		at+`/accept?alternative=cheaper" hx-get=`,
		`class="btn pri" href="#accept"`,
	)
	if strings.Index(page.Body, `href="#accept"`) > strings.Index(page.Body, `id="alternatives"`) {
		t.Error("the Accept button is missing next to the draft")
	}
	confirm := b.Get(at + "/accept?alternative=cheaper")
	webtest.Has(t, confirm, "the question", "Accept the alternative", "replaces v1", "brew", `name="alternative" value="cheaper"`)
	webtest.Safe(t, "accept", confirm.Body)
	if got := b.Get(at + "/accept?alternative=dearer").Code; got != http.StatusNotFound {
		t.Errorf("an unknown alternative: %d", got)
	}
	f := webtest.Form(t, confirm.Body, "Accept the alternative")
	f.Set("reason", "no lemon here")
	p := b.Post(at+"/accept", f)
	if p.Location != "/plans/"+proposed.Plan.Key {
		t.Fatalf("status %d %s", p.Code, webtest.Text(p.Body))
	}
	if again := b.Post(at+"/accept", f); again.Location != p.Location {
		t.Errorf("the form submitted again: status %d", again.Code)
	}
	d, err := site.Drafts.Draft(t.Context(), proposed.ID)
	if err != nil || d.State != domain.DraftAccepted || d.Alternative != "cheaper" || d.Plan.Version != 2 || d.Hash == proposed.Hash ||
		len(d.Steps) != 1 ||
		len(d.Unsafe) != 0 {
		t.Fatalf("%+v %v", d, err)
	}
	plan, err := site.Store.Plan(t.Context(), d.Plan.Key)
	if err != nil || plan.Stage != domain.StageUsed || plan.LatestHash != d.Hash {
		t.Errorf("%+v %v", plan, err)
	}
	events, err := site.Store.AuditEvents(t.Context(), domain.AuditFilter{Actions: []string{"draft.accept", "plan.accept"}})
	if err != nil || len(events.Items) != 2 {
		t.Fatalf("%+v %v", events.Items, err)
	}
	for _, e := range events.Items {
		if !strings.Contains(e.Reason, "no lemon here") || !strings.Contains(string(e.Detail), d.Hash) ||
			e.Action == "draft.accept" && !strings.Contains(string(e.Detail), `"alternative":"cheaper"`) {
			t.Errorf("%+v", e)
		}
	}
	run, err := site.Drafts.Run(t.Context(), site.Admin, d.ID, domain.DraftStart{})
	if err == nil {
		run, err = site.Engine.Wait(t.Context(), run.ID)
	}
	if err != nil || run.Status != domain.RunCompleted || run.Hash != d.Hash {
		t.Errorf("%+v %v", run, err)
	}
	// A draft accepted as proposed cannot be accepted as an alternative.
	if _, err := site.Drafts.Accept(t.Context(), site.Admin, d.ID, domain.DraftAcceptance{Alternative: "faster"}); domain.CodeOf(
		err,
	) != domain.CodeConflict {
		t.Errorf("another alternative afterwards: %v", err)
	}
}

// If each non-idempotent step requires an approval, so do those of the alternatives. A plan that a
// person wrote has no alternatives. A viewer cannot accept one.
func TestAnAlternativeKeepsTheRulesOfItsDraft(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	at, _, d := ask(t, site, b, "brew the tea and then notify everybody", "approve", "1")
	if got, err := site.Drafts.Accept(t.Context(), site.Admin, d.ID, domain.DraftAcceptance{Alternative: "dearer"}); domain.CodeOf(
		err,
	) != domain.CodeInvalid ||
		got.State != domain.DraftReady {
		t.Errorf("an unknown alternative: %+v %v", got, err)
	}
	if _, err := site.Drafts.Accept(t.Context(), domain.Actor{Name: "v", Role: domain.RoleViewer}, d.ID,
		domain.DraftAcceptance{Alternative: "cheaper"}); domain.CodeOf(
		err,
	) != domain.CodeForbidden {
		t.Errorf("a viewer: %v", err)
	}
	if p := b.Post(at+"/accept", webtest.Form(t, b.Get(at+"/accept?alternative=cheaper").Body,
		"Accept the alternative")); p.Code != http.StatusSeeOther {
		t.Fatalf("status %d %s", p.Code, webtest.Text(p.Body))
	}
	d, err := site.Drafts.Draft(t.Context(), d.ID)
	if err != nil || d.Alternative != "cheaper" || !strings.Contains(strings.Join(d.Steps, "\n"), "ask-") ||
		strings.Contains(strings.Join(d.Steps, "\n"), "lemon") {
		t.Errorf("%+v %v", d, err)
	}
	v := site.Plan(
		t,
		`{"id": "mine", "steps": [{"id": "a", "order": 1, "tool": "set"}], "metadata": {"alternatives": [{"steps": [{"id": "a", "order": 1, "tool": "exec"}], "metadata": {"kind": "cheaper"}}]}}`,
	)
	if _, err := site.Drafts.AcceptAlternative(t.Context(), site.Admin, v.Hash,
		domain.DraftAcceptance{Alternative: "cheaper"}); domain.CodeOf(
		err,
	) != domain.CodeInvalid {
		t.Errorf("an alternative of a plan written by a user: got error %v", err)
	}
}
