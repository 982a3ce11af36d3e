package approvals_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// A tool call that requires an approval shows the tool and its exact arguments, escaped, in the
// inbox and on the page of the run. The run continues after the decision.
func TestACallThatNeedsAnApprovalIsDecidedByForm(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, `
id: careful
nodes:
  show: {type: json, metadata: {permission: ask}, input: {value: {to: "${input}"}, path: $.to}}
`)
	run := site.Run(t, "careful", `"<script>alert(1)</script>\u202e"`)
	if run.WaitReason != domain.WaitApproval {
		t.Fatalf("%s %s %+v", run.Status, run.WaitReason, run.Error)
	}
	list, err := site.Store.Approvals(t.Context(), domain.ApprovalFilter{Run: run.ID})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%v %v", list, err)
	}
	b := site.Browser(t).Login()
	path := "/approvals/" + list.Items[0].ID
	for _, page := range []string{path, "/runs/" + run.ID} {
		body := b.Get(page).Body
		if !strings.Contains(body, "Exact arguments of json") || !strings.Contains(body, "&lt;script&gt;") ||
			strings.Contains(body, "<script>alert") ||
			!strings.Contains(body, "U+202E") {
			t.Errorf("%s does not show the call as text", page)
		}
	}
	if body := b.Get("/approvals").Body; !strings.Contains(body, "May json be called with") {
		t.Error("the inbox does not show the request")
	}
	form := b.Get(path).Hidden()
	form.Set("answer", "approve")
	if p := b.Post(path, form); p.Code != http.StatusSeeOther {
		t.Fatalf("approve: got status %d, want %d\n%s", p.Code, http.StatusSeeOther, p.Body)
	}
	if r, err := site.Engine.Wait(t.Context(), run.ID); err != nil || r.Status != domain.RunCompleted {
		t.Errorf("%s %v", r.Status, err)
	}
}
