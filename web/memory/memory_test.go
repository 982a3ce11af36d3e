package memory_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/web/webtest"
)

// The owner sees the memory of a session and clears it by form, with a reason for the audit log.
// Only admins see the sessions of others.
func TestASessionIsForgottenByForm(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: say\nnodes:\n  say: {type: set, input: \"${input}\"}\n")
	b := site.Browser(t).Login()
	if p := b.Get("/memory"); p.Code != http.StatusOK || !strings.Contains(p.Body, "No session has memory yet") {
		t.Errorf("before any: got status %d, want %d", p.Code, http.StatusOK)
	}
	const session = `a "customer"/7 <b>`
	hostile, err := jsonvalue.Encode(webtest.Hostile)
	if err != nil {
		t.Fatal(err)
	}
	run, err := site.Engine.Start(t.Context(), site.Admin, domain.StartRequest{Plan: "say", Session: session, Input: hostile})
	if err != nil {
		t.Fatal(err)
	}
	if run, err = site.Engine.Wait(t.Context(), run.ID); err != nil || run.Status != domain.RunCompleted {
		t.Fatalf("%+v %v", run, err)
	}
	list := b.Get("/memory")
	address := "/memory?" + url.Values{"session": {session}}.Encode()
	if !strings.Contains(list.Body, address) || !strings.Contains(b.Get("/runs/"+run.ID).Body, address) ||
		!strings.Contains(b.Get("/me").Body, `href="/memory"`) {
		t.Errorf("no link to the memory of the session:\n%s", list.Body)
	}
	page := b.Get(address)
	if page.Code != http.StatusOK || !strings.Contains(page.Body, "&lt;script&gt;alert(1)") {
		t.Errorf("got status %d, want %d\n%s", page.Code, http.StatusOK, page.Body)
	}
	webtest.Safe(t, "memory", page.Body)
	forget := "/memory/forget?" + url.Values{"session": {session}}.Encode()
	form := b.Get(forget).Hidden()
	if p := b.Post(forget, form); p.Code != http.StatusUnprocessableEntity || !strings.Contains(p.Body, "Enter a reason") {
		t.Errorf("without a reason: got status %d, want %d", p.Code, http.StatusUnprocessableEntity)
	}
	if _, err := site.Auth.CreateUser(t.Context(), site.Admin, "otto", webtest.Password, domain.RoleOperator); err != nil {
		t.Fatal(err)
	}
	other := site.Browser(t)
	other.Post("/login", url.Values{"csrf": {"anonymous"}, "name": {"otto"}, "password": {webtest.Password}})
	if p := other.Get(forget + "&owner=marta"); p.Code != http.StatusForbidden {
		t.Errorf("another user: got status %d, want %d", p.Code, http.StatusForbidden)
	}
	if p := other.Get(forget); p.Code != http.StatusNotFound {
		t.Errorf("their own session of that name: got status %d, want %d", p.Code, http.StatusNotFound)
	}
	form.Set("reason", "asked to be forgotten")
	if p := b.Post(forget, form); p.Code != http.StatusSeeOther || p.Location != "/memory" {
		t.Fatalf("got status %d, want %d\n%s", p.Code, http.StatusSeeOther, p.Body)
	}
	if p := b.Get(address); p.Code != http.StatusNotFound {
		t.Errorf("the cleared session: got status %d, want %d", p.Code, http.StatusNotFound)
	}
	if p := b.Get("/audit?q=action:memory.forget"); !strings.Contains(p.Body, "asked to be forgotten") {
		t.Error("the action is not in the audit log")
	}
}
