package run_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// A person confirms what an MCP client previewed: the page shows what the digest covers, and the client can
// act once. A52: a digest of another preview cannot be confirmed.
func TestAPersonConfirmsAnActionOfAClient(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	s := &shop{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	site.Plan(t, strings.ReplaceAll(shopPlan, "URL", server.URL))
	run := site.Run(t, "shop", "null")
	client := domain.Actor{Name: "assistant", Role: domain.RoleOperator, Source: "mcp", Scopes: domain.ScopeMCP + " runs:read"}
	req := domain.ActionRequest{Run: run.ID, Action: domain.ActionRerun}
	p, err := site.App.Runs.Preview(t.Context(), client, req)
	if err != nil {
		t.Fatal(err)
	}
	req.Digest = p.Digest
	act := func() (domain.Run, error) {
		return site.App.Runs.ActConfirmed(t.Context(), app.ActRequest{Meta: app.Meta{By: client}, ActionRequest: req})
	}
	if _, err := act(); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("before the confirmation: %v", err)
	}
	b := site.Browser(t).Login()
	at := "/runs/" + run.ID + "/confirm?"
	address := func(action, digest string) string {
		return at + url.Values{"action": {action}, "digest": {digest}}.Encode()
	}
	page := b.Get(address("rerun", p.Digest))
	webtest.HasTexts(t, page, http.StatusOK, "Confirm: Start a new run like", "Remaining steps with side effects", "buy", "wrap",
		"exactly this once", p.Digest)
	webtest.HasTexts(t, b.Get(address("rerun", "00")), http.StatusOK, "The preview has changed", "preview the action again")
	webtest.HasTexts(t, b.Get(address("delete", p.Digest)), http.StatusUnprocessableEntity, "Unknown action")
	webtest.HasTexts(t, b.Get(address("fork", p.Digest)+"&at=x"), http.StatusUnprocessableEntity, "is not a checkpoint")
	form := webtest.Form(t, page.Body, `name="digest"`)
	stale := url.Values{"csrf": form["csrf"], "idem": {domain.NewID()}, "action": {"rerun"}, "digest": {"00"}}
	webtest.HasTexts(t, b.Post("/runs/"+run.ID+"/confirm", stale), http.StatusConflict, "The preview has changed")
	form.Set("reason", "agreed in the chat")
	done := b.Post("/runs/"+run.ID+"/confirm", form)
	if done.Code != http.StatusSeeOther || done.Header.Get("Location") != "/runs/"+run.ID {
		t.Fatalf("%d %s", done.Code, webtest.Text(done.Body))
	}
	webtest.HasTexts(t, b.Get(done.Header.Get("Location")), http.StatusOK, "Confirmed.")
	again, err := act()
	if err != nil || again.ID == run.ID {
		t.Errorf("after the confirmation: %+v %v", again, err)
	}
}
