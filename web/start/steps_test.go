package start_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// The first steps are marked as done automatically, and disappear for a user who dismisses them.
func TestFirstStepsCompleteThemselves(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	done := func(want ...string) {
		t.Helper()
		body := b.Get("/first-steps").Body
		for _, step := range []string{"Run an example plan", "Decide an approval request", "Break a run and resume it", "Pull the plug"} {
			linked := strings.Contains(body, ">"+step+"</a>")
			if is := strings.Contains(strings.Join(want, "|"), step); is == linked || !strings.Contains(body, step) {
				t.Errorf("%q: done %v, want %v", step, !linked, is)
			}
		}
	}
	done()
	site.Plan(t, "id: hello\nnodes:\n  greet: {type: set, input: 1}\n")
	site.Run(t, "hello", `null`)
	done("Run an example plan")
	seed := site.Seed(t)
	open, err := site.Store.Approvals(t.Context(), domain.ApprovalFilter{Run: seed.Waiting.ID})
	if err != nil || len(open.Items) == 0 {
		t.Fatalf("approvals: %v", err)
	}
	if _, err := site.Engine.Decide(t.Context(), site.Admin, domain.DecideRequest{Approval: open.Items[0].ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	again := domain.ActionRequest{Run: seed.Failed.ID, Action: domain.ActionResume}
	if _, err := site.Engine.Act(t.Context(), site.Admin, again); err != nil {
		t.Fatal(err)
	}
	done("Run an example plan", "Decide an approval request", "Break a run and resume it")

	if _, err := site.Auth.CreateUser(t.Context(), site.Admin, "otto", webtest.Password, domain.RoleOperator); err != nil {
		t.Fatal(err)
	}
	other := site.Browser(t)
	other.LoginAs("otto", webtest.Password)
	f := webtest.Form(t, b.Get("/first-steps").Body, `action="/first-steps"`)
	if p := b.Post("/first-steps", f); p.Code != http.StatusSeeOther {
		t.Fatalf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	const none = "All first steps are done."
	webtest.HasTexts(t, b.Get("/first-steps"), http.StatusOK, none)
	webtest.HasTexts(t, other.Get("/first-steps"), http.StatusOK, "Pull the plug</a>", "4 of 5")
	if err := site.Store.Audit(t.Context(), domain.AuditRecord{Action: "demo.completed", Actor: domain.System.Name}); err != nil {
		t.Fatal(err)
	}
	webtest.HasTexts(t, other.Get("/first-steps"), http.StatusOK, none)
}
