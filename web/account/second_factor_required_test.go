package account_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/web/webtest"
)

// If a role requires a second factor, every page redirects a user without one to the page that sets
// it up. The API rejects the session. Afterwards all pages are available, and the user cannot turn
// the second factor off.
func TestRolesThatMustHaveASecondFactor(t *testing.T) {
	t.Parallel()
	site := webtest.NewWith(t, storetest.Open(t), auth.Config{SecondFactorFor: []domain.Role{domain.RoleAuthor}})
	admin := site.Browser(t).Login()
	for _, path := range []string{"/", "/runs", "/settings/users", "/me", "/audit.jsonl", "/api/v1/runs"} {
		p := admin.Get(path)
		if strings.HasPrefix(path, "/api/") {
			if p.Code != http.StatusForbidden || !strings.Contains(p.Body, "/me/second-factor") {
				t.Errorf("%s: got status %d, want %d: %s", path, p.Code, http.StatusForbidden, p.Body)
			}
			continue
		}
		if p.Code != http.StatusSeeOther || p.Location != "/me/second-factor" {
			t.Errorf("%s: got status %d, want %d to %q", path, p.Code, http.StatusSeeOther, p.Location)
		}
	}
	page := admin.Get("/me/second-factor")
	if !strings.Contains(webtest.Text(page.Body), "Your role requires a second factor") {
		t.Fatalf("status %d %s", page.Code, webtest.Text(page.Body))
	}
	f := page.Hidden()
	f.Set("name", "otto")
	f.Set("role", "viewer")
	if p := admin.Post("/settings/users", f); p.Code != http.StatusForbidden || site.Audited(t)["user.create"] {
		t.Errorf("an action before enrolling a second factor: got status %d, want %d", p.Code, http.StatusForbidden)
	}
	f = page.Hidden()
	f.Set("do", "on")
	f.Set("code", webtest.Authenticator(t, f.Get("secret"), time.Now()))
	if p := admin.Post("/me/second-factor", f); p.Code != http.StatusOK || !strings.Contains(p.Body, "recovery codes") {
		t.Fatalf("enable the second factor: got status %d, want %d: %s", p.Code, http.StatusOK, webtest.Text(p.Body))
	}
	if p := admin.Get("/settings/users"); p.Code != http.StatusOK {
		t.Errorf("a page after enrolling: got status %d, want %d", p.Code, http.StatusOK)
	}
	f = admin.Get("/me/second-factor").Hidden()
	f.Set("do", "off")
	if p := admin.Post("/me/second-factor", f); p.Code != http.StatusConflict || !strings.Contains(p.Body, "requires a second factor") {
		t.Errorf("disable the second factor: got status %d, want %d: %s", p.Code, http.StatusConflict, webtest.Text(p.Body))
	}

	// A role below does not require one.
	if _, err := site.Auth.CreateUser(t.Context(), site.Admin, "otto", webtest.Password, domain.RoleOperator); err != nil {
		t.Fatal(err)
	}
	if text := webtest.Text(admin.Get("/settings/users").Body); strings.Contains(text, "requires one") {
		t.Errorf("an operator is required to enroll: %s", text)
	}
	if _, err := site.Auth.CreateUser(t.Context(), site.Admin, "paula", webtest.Password, domain.RoleAuthor); err != nil {
		t.Fatal(err)
	}
	if text := webtest.Text(admin.Get("/settings/users").Body); !strings.Contains(text, "off, but the role requires one") {
		t.Errorf("an author is not required to enroll: %s", text)
	}
}
