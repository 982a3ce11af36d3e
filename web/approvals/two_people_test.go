package approvals_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// If two people are required, the inbox, the approval, and the run show who the first is. The page
// and the API reject a decision by that user, also through a token that they created. Another user
// decides.
func TestTwoPeopleDecide(t *testing.T) {
	t.Parallel()
	site := webtest.NewTwoPeople(t)
	b := site.Browser(t).Login() // as marta
	run := site.Seed(t).Waiting
	open, err := site.Store.Approvals(t.Context(), domain.ApprovalFilter{Run: run.ID})
	if err != nil || len(open.Items) != 1 {
		t.Fatalf("%+v %v", open, err)
	}
	at := "/approvals/" + open.Items[0].ID
	const says1of2 = "1 of 2: marta started the run; another user must answer"
	for _, path := range []string{"/approvals?show=all", at, "/runs/" + run.ID} {
		if p := b.Get(path); !strings.Contains(p.Body, says1of2) {
			t.Errorf("%s does not show that two people are required: status %d", path, p.Code)
		}
	}
	for _, path := range []string{at, "/runs/" + run.ID} {
		if p := b.Get(path); strings.Contains(p.Body, `data-key="approve"`) || !strings.Contains(p.Body, "You started this run") {
			t.Errorf("%s offers a decision that will be rejected: %s", path, webtest.Text(p.Body))
		}
	}
	form := b.Get(at).Hidden()
	form.Set("approve", "yes")
	form.Set("answer", "approve")
	if p := b.Post(at, form); p.Code != http.StatusForbidden {
		t.Errorf("a decision of the user who started the run: got status %d, want %d: %s",
			p.Code, http.StatusForbidden, webtest.Text(p.Body))
	}
	ask := func(by domain.Actor, name string) (code int, actor string) {
		t.Helper()
		token, made, err := site.Auth.CreateToken(t.Context(), by, name, domain.RoleOperator, nil, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(
			t.Context(),
			http.MethodPost,
			site.URL+"/api/v1"+at+"/decide",
			strings.NewReader(`{"answer": "approve", "values": {"note": "by the second"}}`),
		)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode, auth.TokenActor(made)
	}
	code, ofMarta := ask(site.Admin, "of marta")
	if code != http.StatusForbidden {
		t.Errorf("a decision with a token of the user who started the run: status %d", code)
	}
	// A run started by a user's token counts as started by the user, and the page shows this in
	// advance.
	hers, err := site.Engine.Start(t.Context(), domain.Actor{Name: ofMarta, Role: domain.RoleOperator}, domain.StartRequest{Plan: "refund"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := site.Engine.Wait(t.Context(), hers.ID); err != nil {
		t.Fatal(err)
	}
	if p := b.Get("/runs/" + hers.ID); strings.Contains(p.Body, `data-key="approve"`) ||
		!strings.Contains(p.Body, "One of your tokens started this run, so you cannot decide") {
		t.Errorf("the run started by a token offers a decision that will be rejected: %s", webtest.Text(p.Body))
	}
	code, ofPaul := ask(domain.Actor{Name: "cli:root", Role: domain.RoleAdmin}, "of paul")
	if code != http.StatusOK {
		t.Errorf("another user: got status %d, want %d", code, http.StatusOK)
	}
	got, err := site.Store.Approval(t.Context(), open.Items[0].ID)
	if err != nil || got.Status != "approved" || got.DecidedBy != ofPaul || !strings.Contains(string(got.Values), "by the second") {
		t.Errorf("%+v %v", got, err)
	}
}
