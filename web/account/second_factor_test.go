package account_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/web/webtest"
)

// A user turns on a second factor by form, without scripts. The page shows the secret as a QR code
// and as text. The next login requires a code. An admin can remove the second factor.
func TestASecondFactorByForm(t *testing.T) {
	t.Parallel()
	ahead := &atomic.Int64{}
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	site := webtest.NewWith(t, storetest.Open(t), auth.Config{Now: now})
	b := site.Browser(t).Login()
	p := b.Get("/me/second-factor")
	webtest.Safe(t, "second factor", p.Body)
	secret := p.Hidden().Get("secret")
	if len(secret) != 32 || !strings.Contains(p.Body, "<path d=\"M4 4h7") || !strings.Contains(p.Body, "otpauth://totp/kairosd:marta") {
		t.Fatalf("the page shows no secret or no QR code: %s", webtest.Text(p.Body))
	}
	f := p.Hidden()
	f.Set("do", "on")
	f.Set("code", "000000")
	if p := b.Post("/me/second-factor", f); p.Code != http.StatusUnprocessableEntity || p.Hidden().Get("secret") != secret {
		t.Errorf("wrong code: got status %d, want %d", p.Code, http.StatusUnprocessableEntity)
	}
	f.Set("code", webtest.Authenticator(t, secret, now()))
	p = b.Post("/me/second-factor", f)
	recovery := webtest.RecoveryCode.FindAllString(p.Body, -1)
	if p.Code != http.StatusOK || len(recovery) != 10 {
		t.Fatalf("enable the second factor: status %d, %d recovery codes: %s", p.Code, len(recovery), webtest.Text(p.Body))
	}
	if text := webtest.Text(b.Get("/settings/users").Body); !strings.Contains(text, "marta admin active on") {
		t.Errorf("the user list does not show the second factor: %s", text)
	}
	ahead.Add(int64(time.Minute))
	second := site.Browser(t)
	ask := second.Post("/login", url.Values{"csrf": {"anonymous"}, "name": {"marta"}, "password": {webtest.Password}, "next": {"/plans"}})
	if ask.Code != http.StatusOK || !strings.Contains(ask.Body, "Your second factor") || second.Get("/runs").Code != http.StatusSeeOther {
		t.Fatalf("login with only the password: got status %d, want %d: %s", ask.Code, http.StatusOK, webtest.Text(ask.Body))
	}
	webtest.Safe(t, "code", ask.Body)
	f = ask.Hidden()
	f.Set("code", "12345x")
	if p := second.Post("/login/code", f); p.Code != http.StatusUnprocessableEntity || !strings.Contains(p.Body, "This code is not valid") {
		t.Errorf("wrong code: got status %d, want %d: %s", p.Code, http.StatusUnprocessableEntity, webtest.Text(p.Body))
	}
	f.Set("code", webtest.Authenticator(t, secret, now()))
	if p := second.Post("/login/code", f); p.Code != http.StatusSeeOther || p.Location != "/plans" {
		t.Fatalf("correct code: got status %d, want %d: %s %s", p.Code, http.StatusSeeOther, p.Location, webtest.Text(p.Body))
	}
	if p := second.Get("/runs"); p.Code != http.StatusOK {
		t.Errorf("a page after the code: got status %d, want %d", p.Code, http.StatusOK)
	}
	off := webtest.Form(t, second.Get("/me/second-factor").Body, `value="off"`)
	off.Set("do", "off")
	if p := second.Post("/me/second-factor", off); p.Code != http.StatusSeeOther {
		t.Errorf("disable the second factor: got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	if !site.Browser(t).LoginAs("marta", webtest.Password) {
		t.Error("login with only the password fails after the second factor was disabled")
	}
}

// An action of an admin requires a recent proof of identity. The form keeps the posted fields, and
// the action is performed only after the password is confirmed.
func TestAnOldLoginIsConfirmedFirst(t *testing.T) {
	t.Parallel()
	ahead := &atomic.Int64{}
	site := webtest.NewWith(t, storetest.Open(t), auth.Config{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	b := site.Browser(t).Login()
	f := webtest.Form(t, b.Get("/settings/users").Body, `name="name"`)
	f.Set("name", "olga")
	f.Set("password", "a password of hers <&>")
	f.Set("role", "viewer")
	ahead.Add(int64(auth.ConfirmFor))
	ask := b.Post("/settings/users", f)
	if ask.Code != http.StatusUnprocessableEntity || !strings.Contains(ask.Body, "Is it you?") {
		t.Fatalf("an admin action in an old session: got status %d, want %d: %s",
			ask.Code, http.StatusUnprocessableEntity, webtest.Text(ask.Body))
	}
	webtest.Safe(t, "proof", ask.Body)
	if _, err := site.Auth.User(t.Context(), "olga"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Error("the action ran before reauthentication")
	}
	again := ask.Hidden()
	again.Set("proof_password", "not the password")
	if p := b.Post("/settings/users", again); p.Code != http.StatusUnprocessableEntity ||
		!strings.Contains(p.Body, "Wrong password or code") {
		t.Errorf("wrong password: got status %d, want %d: %s", p.Code, http.StatusUnprocessableEntity, webtest.Text(p.Body))
	}
	again.Set("proof_password", webtest.Password)
	if p := b.Post("/settings/users", again); p.Code != http.StatusSeeOther {
		t.Fatalf("correct password: got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	if _, _, err := site.Auth.Login(t.Context(), "olga", "a password of hers <&>", "10.0.0.1", ""); err != nil {
		t.Errorf("the action did not run as posted: %v", err)
	}
	// The proof is valid for a while and then required again. Viewing pages never requires it.
	f = webtest.Form(t, b.Get("/settings/tokens").Body, `name="lifetime"`)
	f.Set("name", "ci")
	f.Set("role", "viewer")
	f.Set("lifetime", "24h")
	if p := b.Post("/settings/tokens", f); p.Code != http.StatusOK || !strings.Contains(p.Body, "shows it only once") {
		t.Errorf("an action shortly after reauthentication: got status %d, want %d", p.Code, http.StatusOK)
	}
	ahead.Add(int64(auth.ConfirmFor))
	if p := b.Get("/settings/tokens"); p.Code != http.StatusOK {
		t.Errorf("reading a page: got status %d, want %d", p.Code, http.StatusOK)
	}
	f.Set("idem", "another")
	if p := b.Post("/settings/tokens", f); p.Code != http.StatusUnprocessableEntity {
		t.Errorf("an action after the reauthentication expired: got status %d, want %d", p.Code, http.StatusUnprocessableEntity)
	}
	// The API requires the same proof for the same session.
	if p := b.Do(webtest.Request(t, http.MethodPost, site.URL+"/api/v1/users",
		`{"name":"otto","password":"a password of his","role":"viewer"}`, "Content-Type", "application/json", "Origin",
		site.URL, "Sec-Fetch-Site", "same-origin")); p.Code != http.StatusForbidden {
		t.Errorf("the same action over the API: status %d", p.Code)
	}
}
