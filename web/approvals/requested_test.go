package approvals_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// The inbox and the home page show what an MCP client asks for. A person refuses or confirms it.
func TestTheRequestOfAnMCPClient(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	run := seed.Failed.ID
	p, err := site.App.Runs.Preview(t.Context(), site.Admin, domain.ActionRequest{Run: run, Action: domain.ActionRerun})
	if err != nil {
		t.Fatal(err)
	}
	client := domain.Actor{Name: "token assistant", Role: domain.RoleOperator, Source: "mcp", Scopes: "mcp"}
	ask := func() (domain.Run, error) {
		return site.App.Runs.ActConfirmed(t.Context(), app.ActRequest{Meta: app.Meta{By: client},
			ActionRequest: domain.ActionRequest{Run: run, Action: domain.ActionRerun, Digest: p.Digest}})
	}
	if _, err := ask(); domain.CodeOf(err) != domain.CodeForbidden {
		t.Fatal(err)
	}
	confirm := "/runs/" + run + "/confirm?action=rerun&digest=" + p.Digest
	for _, page := range []string{"/approvals", "/"} {
		webtest.HasTexts(t, b.Get(page), http.StatusOK, "asked by token assistant", "rerun run",
			strings.ReplaceAll(confirm, "&", "&amp;"))
	}
	page := b.Get(confirm)
	webtest.HasTexts(t, page, http.StatusOK, `value="refuse"`, "within 15 minutes")
	decide := func(do string) {
		t.Helper()
		form := page.Hidden()
		form.Set("do", do)
		form.Set("idem", do)
		form.Set("reason", "not today")
		if p := b.Post("/runs/"+run+"/confirm", form); p.Code != http.StatusSeeOther {
			t.Fatalf("%s: %d %s", do, p.Code, p.Body)
		}
		if p := b.Get("/approvals"); strings.Contains(p.Body, "asked by token assistant") {
			t.Errorf("after %s, the request is still open", do)
		}
	}
	decide("refuse")
	if _, err := ask(); err == nil || !strings.Contains(err.Error(), "a person refused this action: not today") {
		t.Errorf("after the refusal: %v", err)
	}
	decide("act")
	if again, err := ask(); err != nil || again.RerunOf != run {
		t.Errorf("after the confirmation: %+v, %v", again.RerunOf, err)
	}
}
