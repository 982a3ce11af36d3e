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
				t.Errorf("%s: %d %s", path, p.Code, p.Body)
			}
			continue
		}
		if p.Code != http.StatusSeeOther || p.Location != "/me/second-factor" {
			t.Errorf("%s: %d to %q", path, p.Code, p.Location)
		}
	}
	page := admin.Get("/me/second-factor")
	if !strings.Contains(webtest.Words(page.Body), "Your role requires a second factor") {
		t.Fatalf("%d %s", page.Code, webtest.Words(page.Body))
	}
	f := page.Hidden()
	f.Set("name", "otto")
	f.Set("role", "viewer")
	if p := admin.Post("/settings/users", f); p.Code != http.StatusForbidden || site.Audited(t)["user.create"] {
		t.Errorf("an act before it: %d", p.Code)
	}
	f = page.Hidden()
	f.Set("do", "on")
	f.Set("code", webtest.Authenticator(t, f.Get("secret"), time.Now()))
	if p := admin.Post("/me/second-factor", f); p.Code != http.StatusOK || !strings.Contains(p.Body, "recovery codes") {
		t.Fatalf("turned on: %d %s", p.Code, webtest.Words(p.Body))
	}
	if p := admin.Get("/settings/users"); p.Code != http.StatusOK {
		t.Errorf("afterwards: %d", p.Code)
	}
	f = admin.Get("/me/second-factor").Hidden()
	f.Set("do", "off")
	if p := admin.Post("/me/second-factor", f); p.Code != http.StatusConflict || !strings.Contains(p.Body, "requires a second factor") {
		t.Errorf("turned off: %d %s", p.Code, webtest.Words(p.Body))
	}

	// A role below does not require one.
	if _, err := site.Auth.CreateUser(t.Context(), site.Admin, "otto", webtest.Password, domain.RoleOperator); err != nil {
		t.Fatal(err)
	}
	if text := webtest.Words(admin.Get("/settings/users").Body); strings.Contains(text, "requires one") {
		t.Errorf("of an operator it is demanded: %s", text)
	}
	if _, err := site.Auth.CreateUser(t.Context(), site.Admin, "paula", webtest.Password, domain.RoleAuthor); err != nil {
		t.Fatal(err)
	}
	if text := webtest.Words(admin.Get("/settings/users").Body); !strings.Contains(text, "off, but the role requires one") {
		t.Errorf("of an author it is not demanded: %s", text)
	}
}
