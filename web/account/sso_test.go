package account_test

import (
	"context"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/auth/oidc"
	"github.com/kairosd/kairosd/internal/auth/oidc/oidctest"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/web/webtest"
)

// ssoTest is a server with an identity provider.
type ssoTest struct {
	*webtest.Site
	idp   *oidctest.Provider
	clock *atomic.Int64 // offset of the OpenID Connect client's clock, in ns
	// quiet is the offset of the clock that limits failed logins, in ns.
	quiet *atomic.Int64
}

func newSSOTest(t *testing.T, change func(*oidc.Config, *auth.Config)) *ssoTest {
	t.Helper()
	h := &ssoTest{idp: oidctest.New(t), clock: new(atomic.Int64), quiet: new(atomic.Int64)}
	c := oidc.Config{
		Issuer:       h.idp.URL,
		ClientID:     oidctest.ClientID,
		ClientSecret: oidctest.ClientSecret,
		Scopes:       []string{"profile", "groups"},
		Label:        "Example",
		Roles:        map[string]domain.Role{"ops": domain.RoleOperator, "boss": domain.RoleAdmin, "all": domain.RoleViewer},
		Now:          func() time.Time { return time.Now().Add(time.Duration(h.clock.Load())) },
	}
	access := auth.Config{CreateUsers: true, Now: func() time.Time { return time.Now().Add(time.Duration(h.quiet.Load())) }}
	if change != nil {
		change(&c, &access)
	}
	provider, err := oidc.New(c)
	if err != nil {
		t.Fatal(err)
	}
	access.Provider = provider
	h.Site = webtest.NewWith(t, storetest.Open(t), access)
	return h
}

// visit follows the login button to the provider, and returns the callback address without opening
// it.
func visit(t *testing.T, b *webtest.Browser) (callback string) {
	t.Helper()
	p := b.Get("/login/oidc?next=%2Fruns")
	if p.Code != http.StatusSeeOther {
		t.Fatalf("the login button: got status %d, want %d\n%s", p.Code, http.StatusSeeOther, p.Body)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := elsewhere.Get(p.Location)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	back, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || back.Path != "/login/oidc/callback" {
		t.Fatalf("the provider redirects to %v: status %d, error %v", back, resp.StatusCode, err)
	}
	return back.RequestURI()
}

// enter logs in through the provider and returns the page after the callback.
func (h *ssoTest) enter(t *testing.T, b *webtest.Browser) webtest.Page {
	t.Helper()
	return b.Get(visit(t, b))
}

// checkRefused requires a page with the reason, an audit event, and no session.
func (h *ssoTest) checkRefused(t *testing.T, b *webtest.Browser, p webtest.Page, code int, words string) {
	t.Helper()
	if p.Code != code || !strings.Contains(p.Body, words) || !strings.Contains(p.Body, `role="alert"`) {
		t.Errorf("got status %d, want status %d and a page that contains %q:\n%s", p.Code, code, words, p.Body)
	}
	if in := b.Get("/runs"); in.Code == http.StatusOK {
		t.Error("the rejected user has a session")
	}
	list, err := h.Store.AuditEvents(t.Context(), domain.AuditFilter{Action: "login", Result: "denied", Page: domain.Page{Limit: 1}})
	if err != nil || len(list.Items) != 1 || !strings.Contains(list.Items[0].Reason, "Example") ||
		!strings.Contains(list.Items[0].Reason, "127.0.0.1") {
		t.Errorf("the rejected login is not in the audit log: %+v %v", list.Items, err)
	}
}

func TestTheIdentityProviderLogsIn(t *testing.T) {
	t.Parallel()
	h := newSSOTest(t, nil)
	h.Browser(t).Login() // marta has a password
	b := h.Browser(t)
	if p := b.Get("/login?next=%2Fruns"); !strings.Contains(p.Body, `href="/login/oidc?next=%2Fruns"`) ||
		!strings.Contains(p.Body, "Log in with Example") ||
		!strings.Contains(p.Body, `name="password"`) {
		t.Fatalf("the login page does not offer both password and provider:\n%s", p.Body)
	}
	h.idp.Person("248289761001", "Olga", "all", "ops")
	p := h.enter(t, b)
	if p.Code != http.StatusOK || p.Header.Get("Refresh") != "0; url=/runs" || !strings.Contains(p.Body, `href="/runs"`) {
		t.Fatalf("got status %d, want %d: %q\n%s", p.Code, http.StatusOK, p.Header.Get("Refresh"), p.Body)
	}
	for _, c := range p.Header["Set-Cookie"] {
		if strings.HasPrefix(c, "kairos=") && (!strings.Contains(c, "SameSite=Strict") || !strings.Contains(c, "HttpOnly")) {
			t.Errorf("got session cookie %s", c)
		}
	}
	if p := b.Get("/me"); p.Code != http.StatusOK || !strings.Contains(p.Body, "olga") ||
		strings.Contains(p.Body, `action="/me/password"`) {
		t.Errorf("the page of the account: got status %d, want %d\n%s", p.Code, http.StatusOK, p.Body)
	}
	u, err := h.Store.User(t.Context(), "olga")
	if err != nil || u.Role != domain.RoleOperator || u.Issuer != h.idp.URL || u.Subject != "248289761001" || u.PasswordHash != "" {
		t.Fatalf("%+v %v", u, err)
	}

	// Each login applies the role from the provider. A changed role ends open sessions.
	again := h.Browser(t)
	h.idp.Person("248289761001", "olga.renamed", "boss")
	h.enter(t, again)
	if u, _ := h.Store.User(t.Context(), "olga"); u.Role != domain.RoleAdmin {
		t.Errorf("the role was not updated at login: got %s", u.Role)
	}
	if p := b.Get("/runs"); p.Code != http.StatusSeeOther {
		t.Errorf("A19: a session from before the role change: got status %d, want %d", p.Code, http.StatusSeeOther)
	}
	if users, _ := h.Auth.Users(t.Context()); len(users) != 2 {
		t.Errorf("a changed name created another user: %v", users)
	}

	// Signing out ends the session here, even if the session at the provider continues.
	f := webtest.Form(t, again.Get("/me").Body, `action="/logout"`)
	if p := again.Post("/logout", f); p.Code != http.StatusSeeOther {
		t.Errorf("sign out: got status %d, want %d", p.Code, http.StatusSeeOther)
	}
	if p := again.Get("/runs"); p.Code != http.StatusSeeOther {
		t.Errorf("after signing out: got status %d, want %d", p.Code, http.StatusSeeOther)
	}
	seen := h.Audited(t)
	for _, action := range []string{"login", "user.create", "user.update", "logout"} {
		if !seen[action] {
			t.Errorf("%s is not in the audit log", action)
		}
	}
}

// An invalid response of the provider never logs in a user (S05 and section 3.1.3.7 of OpenID
// Connect Core).
func TestAnswersThatProveNothingAreRefused(t *testing.T) {
	t.Parallel()
	h := newSSOTest(t, nil)
	h.Browser(t).Login()
	for name, c := range map[string]struct {
		do    func(h *ssoTest)
		words string
	}{
		"wrong nonce":    {func(h *ssoTest) { h.idp.Tamper(func(c map[string]any) { c["nonce"] = "another" }) }, "wrong nonce"},
		"no nonce":       {func(h *ssoTest) { h.idp.Tamper(func(c map[string]any) { delete(c, "nonce") }) }, "wrong nonce"},
		"wrong audience": {func(h *ssoTest) { h.idp.Tamper(func(c map[string]any) { c["aud"] = "another" }) }, "expected audience"},
		"two audiences": {func(h *ssoTest) { h.idp.Tamper(func(c map[string]any) { c["aud"] = []string{"kairosd", "other"} }) },
			"another client"},
		"other party": {func(h *ssoTest) { h.idp.Tamper(func(c map[string]any) { c["azp"] = "other" }) }, "another client"},
		"expired": {func(h *ssoTest) {
			h.idp.Tamper(func(c map[string]any) { c["exp"] = time.Now().Add(-time.Minute).Unix() })
		}, "expired"},
		"not yet valid": {func(h *ssoTest) {
			h.idp.Tamper(
				func(c map[string]any) { c["nbf"] = time.Now().Add(time.Hour).Unix() })
		}, "nbf"},
		"wrong issuer": {func(h *ssoTest) { h.idp.Tamper(func(c map[string]any) { c["iss"] = "https://evil.example" }) },
			"issued by a different provider"},
		"nobody": {func(h *ssoTest) { h.idp.Tamper(func(c map[string]any) { delete(c, "sub") }) }, "has no subject"},
		"access token": {func(h *ssoTest) {
			h.idp.Tamper(
				func(c map[string]any) { c["at_hash"] = "AAAAAAAAAAAAAAAAAAAAAA" })
		}, "access token"},
		"forged signature": {func(h *ssoTest) { h.idp.Forge(true) }, "signature"},
		"no signature":     {func(h *ssoTest) { h.idp.Unsigned(true) }, "cannot be trusted"},
		"refused there":    {func(h *ssoTest) { h.idp.Refuse("access_denied") }, "rejected the login: access_denied"},
		"unmapped group":   {func(h *ssoTest) { h.idp.Person("7", "olga", "strangers") }, "None of your groups has a role here"},
		"no group": {func(h *ssoTest) {
			h.idp.Claims(map[string]any{"sub": "7", "preferred_username": "olga", "groups": []string{}})
		}, "None of your groups"},
		"name cannot be used": {func(h *ssoTest) { h.idp.Person("7", "<script>", "ops") }, "is not a valid user name"},
		"reserved name":       {func(h *ssoTest) { h.idp.Person("7", "system", "ops") }, "is not a valid user name"},
		"name of another":     {func(h *ssoTest) { h.idp.Person("7", "marta", "boss") }, "User marta already exists"},
		"e-mail of another": {func(h *ssoTest) {
			h.idp.Claims(map[string]any{"sub": "7", "preferred_username": "marta", "email": "marta@example.com",
				"email_verified": true, "groups": "boss"})
		}, "not linked"},
	} {
		t.Run(name, func(t *testing.T) {
			h.idp.Person("7", "olga", "ops").Tamper(nil).Forge(false).Unsigned(false).Refuse("")
			h.quiet.Add(int64(20 * time.Second))
			c.do(h)
			b := h.Browser(t)
			h.checkRefused(t, b, h.enter(t, b), http.StatusForbidden, c.words)
			if users, _ := h.Auth.Users(t.Context()); len(users) != 1 {
				t.Errorf("a user was created: %v", users)
			}
		})
	}
}

func TestALoginAtTheProviderEndsOnce(t *testing.T) {
	t.Parallel()
	h := newSSOTest(t, nil)
	h.Browser(t).Login()
	h.idp.Person("7", "olga", "ops")

	b := h.Browser(t)
	callback := visit(t, b)
	u, err := url.Parse(callback)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	with := func(key, value string) string {
		changed := url.Values{}
		for k, v := range q {
			changed[k] = v
		}
		changed.Set(key, value)
		return "/login/oidc/callback?" + changed.Encode()
	}
	stranger := h.Browser(t)
	h.checkRefused(t, stranger, stranger.Get(callback), http.StatusForbidden, "has not started a login")

	h.checkRefused(t, b, b.Get(with("state", "guess")), http.StatusForbidden, "wrong state")
	b = h.Browser(t)
	visit(t, b)
	h.checkRefused(t, b, b.Get(callback), http.StatusForbidden, "wrong state") // response to another browser (login CSRF)

	b = h.Browser(t)
	callback = visit(t, b)
	h.checkRefused(t, b, b.Get(callback+"&iss=https%3A%2F%2Fevil.example"), http.StatusForbidden, "given twice")
	b = h.Browser(t)
	callback = visit(t, b)
	evil := strings.Replace(callback, url.QueryEscape(h.idp.URL), "https%3A%2F%2Fevil.example", 1)
	h.checkRefused(t, b, b.Get(evil), http.StatusForbidden, "another issuer")

	// A response is accepted only once, even with the cookie of its login.
	b = h.Browser(t)
	p := b.Get("/login/oidc")
	cookie := p.Header.Get("Set-Cookie")
	kept, _, _ := strings.Cut(strings.TrimPrefix(cookie, "kairos-login="), ";")
	resp, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Get(
		p.Location,
	)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	back, err := url.Parse(resp.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Lax") {
		t.Errorf("got login cookie %s", cookie)
	}
	if p := b.Get(back.RequestURI()); p.Code != http.StatusOK {
		t.Fatalf("got status %d, want %d\n%s", p.Code, http.StatusOK, p.Body)
	}
	thief := h.Browser(t)
	req, err := http.NewRequest(http.MethodGet, h.URL+back.RequestURI(), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.AddCookie(&http.Cookie{Name: "kairos-login", Value: kept})
	h.checkRefused(t, thief, thief.Do(req), http.StatusForbidden, "already complete")

	// The provider has already redeemed the code, but the login belongs to this browser.
	b = h.Browser(t)
	callback = visit(t, b)
	own, _ := url.Parse(callback)
	h.checkRefused(
		t,
		b,
		b.Get("/login/oidc/callback?"+url.Values{"state": {own.Query().Get("state")}, "code": {back.Query().Get("code")}}.Encode()),
		http.StatusForbidden,
		"code was not accepted",
	)

	// The login has expired.
	b = h.Browser(t)
	callback = visit(t, b)
	h.clock.Store(int64(oidc.Lifetime))
	h.checkRefused(t, b, b.Get(callback), http.StatusForbidden, "took too long")
}

func TestDisabledUsersStayOut(t *testing.T) {
	t.Parallel()
	h := newSSOTest(t, nil)
	h.Browser(t).Login()
	h.idp.Person("7", "olga", "ops")
	b := h.Browser(t)
	h.enter(t, b)
	yes := true
	if _, err := h.Auth.UpdateUser(t.Context(), h.Admin, "olga", nil, nil, &yes); err != nil {
		t.Fatal(err)
	}
	if p := b.Get("/runs"); p.Code != http.StatusSeeOther {
		t.Errorf("the session of a disabled user: got status %d, want %d", p.Code, http.StatusSeeOther)
	}
	b = h.Browser(t)
	h.checkRefused(t, b, h.enter(t, b), http.StatusForbidden, "Your account olga is disabled")
}

func TestOnlyAllowedGroupsComeIn(t *testing.T) {
	t.Parallel()
	h := newSSOTest(t, func(c *oidc.Config, _ *auth.Config) {
		c.RoleClaim, c.Roles, c.AllowedGroups = "realm_access.roles", nil, []string{"kairos users"}
	})
	h.Browser(t).Login()
	h.idp.Claims(map[string]any{"sub": "7", "preferred_username": "olga", "realm_access": map[string]any{"roles": []string{"others"}}})
	b := h.Browser(t)
	h.checkRefused(t, b, h.enter(t, b), http.StatusForbidden, "None of your groups is permitted to use this server")
	h.idp.Claims(
		map[string]any{
			"sub":                "7",
			"preferred_username": "olga",
			"realm_access":       map[string]any{"roles": []string{"others", "kairos users"}},
		},
	)
	if p := h.enter(t, b); p.Code != http.StatusOK {
		t.Fatalf("got status %d, want %d\n%s", p.Code, http.StatusOK, p.Body)
	}
	// The provider sends no roles, so an admin assigns them.
	author := domain.RoleAuthor
	if u, err := h.Auth.UpdateUser(t.Context(), h.Admin, "olga", &author, nil, nil); err != nil || u.Role != author {
		t.Fatal(u, err)
	}
	if h.enter(t, b); b.Get("/plans/new").Code != http.StatusOK {
		t.Error("the role assigned in kairosd was lost after a login")
	}
}

func TestGroupsMayComeFromTheUserInformation(t *testing.T) {
	t.Parallel()
	h := newSSOTest(t, nil)
	h.Browser(t).Login()
	h.idp.Claims(map[string]any{"sub": "7", "preferred_username": "olga"}).UserInfo(map[string]any{"sub": "8", "groups": []string{"boss"}})
	b := h.Browser(t)
	h.checkRefused(t, b, h.enter(t, b), http.StatusForbidden, "another user")
	h.idp.UserInfo(map[string]any{"sub": "7", "groups": []string{"ops"}})
	h.enter(t, b)
	if u, err := h.Store.User(t.Context(), "olga"); err != nil || u.Role != domain.RoleOperator {
		t.Errorf("%+v %v", u, err)
	}
}

// A person unknown to kairosd can log in only after an admin has linked a user to them.
func TestAnAdminLinksAUser(t *testing.T) {
	t.Parallel()
	h := newSSOTest(t, func(_ *oidc.Config, a *auth.Config) { a.CreateUsers = false })
	admin := h.Browser(t).Login()
	h.idp.Person("subject-of-olga", "olga", "ops")
	b := h.Browser(t)
	h.checkRefused(t, b, h.enter(t, b), http.StatusForbidden, "You have no account on this server")
	if p := admin.Get("/audit?q=action:login"); !strings.Contains(p.Body, "subject:subject-of-olga") {
		t.Errorf("the audit log does not contain the subject:\n%s", p.Body)
	}
	u, err := h.Auth.CreateUser(t.Context(), h.Admin, "olga", webtest.Password, domain.RoleViewer)
	if err != nil {
		t.Fatal(err)
	}
	page := "/settings/users/" + u.ID
	f := webtest.Form(t, admin.Get(page).Body, `value="link"`)
	f.Set("do", "link")
	f.Set("subject", "subject-of-olga")
	if p := admin.Post(page, f); p.Code != http.StatusSeeOther || !strings.Contains(admin.Get(page).Body, "subject-of-olga") {
		t.Fatalf("link: got status %d, want %d", p.Code, http.StatusSeeOther)
	}
	if p := h.enter(t, b); p.Code != http.StatusOK {
		t.Fatalf("got status %d, want %d\n%s", p.Code, http.StatusOK, p.Body)
	}
	// Another user cannot be linked to the same person.
	marta, err := h.Auth.User(t.Context(), "marta")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Auth.LinkUser(t.Context(), h.Admin, marta.ID, "subject-of-olga"); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("two users have the same external account: %v", err)
	}
	f = webtest.Form(t, admin.Get(page).Body, `value="unlink"`)
	f.Set("do", "unlink")
	if p := admin.Post(page, f); p.Code != http.StatusSeeOther {
		t.Errorf("unlink: got status %d, want %d", p.Code, http.StatusSeeOther)
	}
	if p := b.Get("/runs"); p.Code != http.StatusSeeOther {
		t.Errorf("the session after unlinking: got status %d, want %d", p.Code, http.StatusSeeOther)
	}
}

// While the provider is unavailable, other login methods work. Login through the provider works as
// soon as it is available again.
func TestTheProviderIsDown(t *testing.T) {
	t.Parallel()
	h := newSSOTest(t, nil)
	h.idp.Down(true)
	h.Browser(t).Login()
	b := h.Browser(t)
	if p := b.Get("/login/oidc"); p.Code != http.StatusServiceUnavailable || !strings.Contains(p.Body, "Example is not available") ||
		!strings.Contains(p.Body, `name="password"`) {
		t.Errorf("got status %d, want %d\n%s", p.Code, http.StatusServiceUnavailable, p.Body)
	}
	h.idp.Down(false).Person("7", "olga", "ops")
	h.clock.Store(int64(time.Minute))
	callback := visit(t, b)
	h.idp.Down(true) // between the redirect and the callback
	h.checkRefused(t, b, b.Get(callback), http.StatusServiceUnavailable, "Example is not available")
	h.idp.Down(false)
	if p := h.enter(t, b); p.Code != http.StatusOK {
		t.Errorf("got status %d, want %d\n%s", p.Code, http.StatusOK, p.Body)
	}
	// The cached metadata of the provider remains valid while the provider is unavailable.
	h.clock.Store(int64(3 * time.Hour))
	h.idp.Down(true)
	if p := b.Get("/login/oidc"); p.Code != http.StatusSeeOther {
		t.Errorf("a configured provider: got status %d, want %d", p.Code, http.StatusSeeOther)
	}
}

// If passwords are disabled, the setup link and login links still work.
func TestPasswordsAreSwitchedOff(t *testing.T) {
	t.Parallel()
	h := newSSOTest(t, func(_ *oidc.Config, a *auth.Config) { a.NoPassword = true })
	h.idp.Person("7", "olga", "ops")
	b := h.Browser(t)
	// The first user must be an admin.
	if p := b.Get("/login"); p.Code != http.StatusOK || !strings.Contains(p.Body, "No users yet") {
		t.Errorf("got status %d, want %d\n%s", p.Code, http.StatusOK, p.Body)
	}
	h.checkRefused(t, b, h.enter(t, b), http.StatusForbidden, "not set up yet")
	if p := b.Post("/setup", url.Values{"csrf": {"anonymous"}, "token": {h.Setup}, "name": {"marta"},
		"password": {webtest.Password}}); p.Code != http.StatusSeeOther ||
		b.Get("/runs").Code != http.StatusOK {
		t.Fatalf("setup: status %d\n%s", p.Code, p.Body)
	}
	b = h.Browser(t)
	if p := b.Get("/login"); strings.Contains(p.Body, `name="password"`) || !strings.Contains(p.Body, "kairosd user login-link") {
		t.Errorf("the setup form is still shown:\n%s", p.Body)
	}
	if p := b.Post("/login", url.Values{"csrf": {"anonymous"}, "name": {"marta"},
		"password": {webtest.Password}}); p.Code != http.StatusForbidden ||
		!strings.Contains(p.Body, "Password login is disabled") {
		t.Errorf("login with a password: status %d\n%s", p.Code, p.Body)
	}
	if p := h.enter(t, b); p.Code != http.StatusOK {
		t.Errorf("login with the provider: got status %d, want %d\n%s", p.Code, http.StatusOK, p.Body)
	}

	if _, err := h.Auth.LoginLink(t.Context(), h.Admin, "marta"); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("a login link requested remotely: got error %v", err)
	}
	atTheMachine := domain.Actor{Name: "cli:root", Role: domain.RoleAdmin, Source: "cli"}
	secret, err := h.Auth.LoginLink(context.Background(), atTheMachine, "marta")
	if err != nil {
		t.Fatal(err)
	}
	b = h.Browser(t)
	p := b.Get("/login/link?token=" + secret) // GET does not use up the link
	if p.Code != http.StatusOK {
		t.Fatalf("got status %d, want %d\n%s", p.Code, http.StatusOK, p.Body)
	}
	f := webtest.Form(t, p.Body, `action="/login/link"`)
	if p := b.Post("/login/link", f); p.Code != http.StatusSeeOther || b.Get("/runs").Code != http.StatusOK {
		t.Errorf("the login link: got status %d, want %d\n%s", p.Code, http.StatusSeeOther, p.Body)
	}
	second := h.Browser(t)
	if p := second.Post("/login/link", f); p.Code != http.StatusForbidden || !strings.Contains(p.Body, "invalid, used, or expired") {
		t.Errorf("the login link used again: got status %d, want %d\n%s", p.Code, http.StatusForbidden, p.Body)
	}
}

// A user to whom the provider gives the admin role can be the first user. The setup link then
// becomes invalid.
func TestTheFirstUserMayComeFromTheProvider(t *testing.T) {
	t.Parallel()
	h := newSSOTest(t, nil)
	h.idp.Person("1", "marta", "boss")
	b := h.Browser(t)
	if p := h.enter(t, b); p.Code != http.StatusOK || b.Get("/settings/users").Code != http.StatusOK {
		t.Fatalf("got status %d, want %d\n%s", p.Code, http.StatusOK, p.Body)
	}
	other := h.Browser(t)
	if p := other.Post("/setup", url.Values{"csrf": {"anonymous"}, "token": {h.Setup}, "name": {"eve"},
		"password": {webtest.Password}}); p.Code == http.StatusSeeOther {
		t.Error("the setup link still creates an admin")
	}
	// A login through the provider cannot demote the last admin.
	h.idp.Person("1", "marta", "ops")
	h.checkRefused(t, other, h.enter(t, other), http.StatusConflict, "only admin")
}
