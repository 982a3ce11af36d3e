package account_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

func TestAnAdminManagesUsers(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	admin := site.Browser(t).Login()
	f := webtest.Form(t, admin.Get("/settings/users").Body, `name="name"`)
	f.Set("name", "olga")
	f.Set("password", "short")
	f.Set("role", "operator")
	if p := admin.Post("/settings/users", f); p.Code != http.StatusUnprocessableEntity || !strings.Contains(p.Body, "12") ||
		!strings.Contains(p.Body, `value="olga"`) {
		t.Errorf("short password: got status %d, want %d\n%s", p.Code, http.StatusUnprocessableEntity, p.Body)
	}
	f.Set("password", webtest.Password)
	p := admin.Post("/settings/users", f)
	if p.Code != http.StatusSeeOther {
		t.Fatalf("create: got status %d, want %d\n%s", p.Code, http.StatusSeeOther, p.Body)
	}
	page := p.Location
	if again := admin.Post("/settings/users", f); again.Location != page {
		t.Errorf("the form submitted again: status %d %s", again.Code, again.Location)
	}
	olga := site.Browser(t)
	if !olga.LoginAs("olga", webtest.Password) {
		t.Fatal("user olga cannot log in")
	}
	if p := olga.Get("/settings/users"); p.Code != http.StatusForbidden {
		t.Errorf("an operator can open the user list: got status %d, want %d", p.Code, http.StatusForbidden)
	}
	if strings.Contains(olga.Get("/").Body, `href="/settings/users"`) {
		t.Error("the settings are visible to an operator")
	}
	f = webtest.Form(t, admin.Get(page).Body, `value="disable"`)
	f.Set("do", "disable")
	if p := admin.Post(page, f); p.Code != http.StatusSeeOther || !strings.Contains(admin.Get(page).Body, "disabled") {
		t.Errorf("disable: got status %d, want %d", p.Code, http.StatusSeeOther)
	}
	if p := olga.Get("/runs"); p.Code != http.StatusSeeOther || !strings.HasPrefix(p.Location, "/login") {
		t.Errorf("the session of a disabled user: got status %d, want %d", p.Code, http.StatusSeeOther)
	}
	if olga.LoginAs("olga", webtest.Password) {
		t.Error("a disabled user can log in")
	}
	// The last admin keeps the role.
	marta := regexp.MustCompile(`href="(/settings/users/[^"]+)">marta`).FindStringSubmatch(admin.Get("/settings/users").Body)[1]
	f = webtest.Form(t, admin.Get(marta).Body, `value="role"`)
	f.Set("do", "role")
	f.Set("role", "viewer")
	if p := admin.Post(marta, f); p.Code != http.StatusUnprocessableEntity {
		t.Errorf("changing the role of the last admin: got status %d, want %d", p.Code, http.StatusUnprocessableEntity)
	}
	seen := site.Audited(t)
	for _, action := range []string{"user.create", "user.update"} {
		if !seen[action] {
			t.Errorf("%s is not in the audit log: %v", action, seen)
		}
	}
}

// The form for tokens offers a scope for each plan that is a tool.
func TestATokenForOnePlan(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: refund\nexpose: [mcp]\nnodes: {a: {type: set, input: 1}}\n")
	site.Plan(t, "id: private\nnodes: {a: {type: set, input: 1}}\n")
	admin := site.Browser(t).Login()
	page := admin.Get("/settings/tokens")
	if !strings.Contains(page.Body, `value="mcp:refund"`) || strings.Contains(page.Body, "mcp:private") {
		t.Fatal("the form does not offer the plans that are tools")
	}
	f := webtest.Form(t, page.Body, `name="name"`)
	f.Set("name", "assistant")
	f.Set("role", "operator")
	f.Set("scope", "mcp:refund")
	admin.Post("/settings/tokens", f)
	tokens, err := site.App.Tokens.List(t.Context(), site.Admin)
	if err != nil || len(tokens) != 1 || strings.Join(tokens[0].Scopes, " ") != "mcp:refund" {
		t.Errorf("%+v %v", tokens, err)
	}
}

// A token is shown once, and works until it is revoked.
func TestATokenIsShownOnceAndRevoked(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	admin := site.Browser(t).Login()
	f := webtest.Form(t, admin.Get("/settings/tokens").Body, `name="name"`)
	f.Set("name", "ci <b>")
	f.Set("role", "viewer")
	f.Set("lifetime", "24h")
	p := admin.Post("/settings/tokens", f)
	made := regexp.MustCompile(`kro_[a-z0-9]{8}_[A-Za-z0-9_-]{43}_[0-9a-f]{8}`).FindString(p.Body)
	if p.Code != http.StatusOK || made == "" || !strings.Contains(p.Body, "ci &lt;b&gt;") {
		t.Fatalf("got status %d, want %d\n%s", p.Code, http.StatusOK, p.Body)
	}
	if p := admin.Post("/settings/tokens", f); p.Code != http.StatusSeeOther || strings.Contains(p.Body, made) {
		t.Errorf("the form submitted again: got status %d, want %d", p.Code, http.StatusSeeOther)
	}
	if strings.Contains(admin.Get("/settings/tokens").Body, made) {
		t.Error("the token is shown again")
	}
	use := func() int {
		req, err := http.NewRequest(http.MethodGet, site.URL+"/api/v1/me", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+made)
		return site.Browser(t).Do(req).Code
	}
	if code := use(); code != http.StatusOK {
		t.Errorf("a request with the token: got status %d, want %d", code, http.StatusOK)
	}
	revoke := regexp.MustCompile(`/settings/tokens/[^"/]+/revoke`).FindString(admin.Get("/settings/tokens").Body)
	page := admin.Get(revoke)
	if !strings.Contains(page.Body, "cannot undo this") {
		t.Errorf("the page does not ask for confirmation:\n%s", page.Body)
	}
	if !strings.Contains(webtest.Text(page.Body), "from 127.0.0.1") {
		t.Errorf("the page does not show where the token was last used: %s", webtest.Text(page.Body))
	}
	why := webtest.Form(t, page.Body, `action="`+revoke)
	if p := admin.Post(revoke, why); p.Code != http.StatusUnprocessableEntity || !strings.Contains(p.Body, "Enter a reason") {
		t.Errorf("without a reason: got status %d, want %d: %s", p.Code, http.StatusUnprocessableEntity, webtest.Text(p.Body))
	}
	why.Set("reason", "the laptop was stolen")
	if p := admin.Post(revoke, why); p.Code != http.StatusSeeOther {
		t.Errorf("revoke: got status %d, want %d", p.Code, http.StatusSeeOther)
	}
	if text := webtest.Text(admin.Get("/audit?q=action:token.revoke").Body); !strings.Contains(text, "the laptop was stolen") {
		t.Errorf("the audit log does not contain the reason: %s", text)
	}
	if text := webtest.Text(admin.Get(revoke).Body); !strings.Contains(text, "There is nothing to revoke") {
		t.Errorf("revoking a revoked token: %s", text)
	}
	if code := use(); code != http.StatusUnauthorized {
		t.Errorf("a request with a revoked token: got status %d, want %d", code, http.StatusUnauthorized)
	}
}

func TestOnesOwnPage(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	here, there := site.Browser(t).Login(), site.Browser(t).Login()
	f := webtest.Form(t, here.Get("/me").Body, `name="old"`)
	f.Set("old", "wrong password 12")
	f.Set("password", "another good password")
	f.Set("again", "another good password")
	if p := here.Post("/me/password", f); p.Code != http.StatusUnprocessableEntity {
		t.Errorf("wrong current password: got status %d, want %d", p.Code, http.StatusUnprocessableEntity)
	}
	f.Set("old", webtest.Password)
	f.Set("again", "different")
	if p := here.Post("/me/password", f); p.Code != http.StatusUnprocessableEntity || !strings.Contains(p.Body, "differ") {
		t.Errorf("two different new passwords: got status %d, want %d", p.Code, http.StatusUnprocessableEntity)
	}
	if p := there.Get("/runs"); p.Code != http.StatusOK {
		t.Fatalf("a second login: got status %d, want %d", p.Code, http.StatusOK)
	}
	f = webtest.Form(t, here.Get("/me").Body, `value="others"`)
	f.Set("session", "others")
	if p := here.Post("/me/sessions", f); p.Code != http.StatusSeeOther {
		t.Errorf("sign out other sessions: got status %d, want %d", p.Code, http.StatusSeeOther)
	}
	if p := there.Get("/runs"); p.Code != http.StatusSeeOther {
		t.Errorf("the other session after signing it out: got status %d, want %d", p.Code, http.StatusSeeOther)
	}
	if p := here.Get("/runs"); p.Code != http.StatusOK {
		t.Errorf("this session after signing out the others: got status %d, want %d", p.Code, http.StatusOK)
	}
	f = webtest.Form(t, here.Get("/me").Body, `name="old"`)
	for k, v := range map[string]string{"old": webtest.Password, "password": "another good password", "again": "another good password"} {
		f.Set(k, v)
	}
	if p := here.Post("/me/password", f); p.Code != http.StatusSeeOther {
		t.Errorf("change: got status %d, want %d\n%s", p.Code, http.StatusSeeOther, p.Body)
	}
	if !site.Browser(t).LoginAs("marta", "another good password") {
		t.Error("login with the new password is rejected")
	}
}
