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
		t.Fatalf("no secret, or no picture of it: %s", webtest.Words(p.Body))
	}
	f := p.Hidden()
	f.Set("do", "on")
	f.Set("code", "000000")
	if p := b.Post("/me/second-factor", f); p.Code != http.StatusUnprocessableEntity || p.Hidden().Get("secret") != secret {
		t.Errorf("a wrong code: %d", p.Code)
	}
	f.Set("code", webtest.Authenticator(t, secret, now()))
	p = b.Post("/me/second-factor", f)
	recovery := webtest.RecoveryCode.FindAllString(p.Body, -1)
	if p.Code != http.StatusOK || len(recovery) != 10 {
		t.Fatalf("turn it on: %d, %d codes: %s", p.Code, len(recovery), webtest.Words(p.Body))
	}
	if text := webtest.Words(b.Get("/settings/users").Body); !strings.Contains(text, "marta admin active on") {
		t.Errorf("the list of users: %s", text)
	}
	ahead.Add(int64(time.Minute))
	second := site.Browser(t)
	ask := second.Post("/login", url.Values{"csrf": {"anonymous"}, "name": {"marta"}, "password": {webtest.Password}, "next": {"/plans"}})
	if ask.Code != http.StatusOK || !strings.Contains(ask.Body, "Your second factor") || second.Get("/runs").Code != http.StatusSeeOther {
		t.Fatalf("the password alone: %d %s", ask.Code, webtest.Words(ask.Body))
	}
	webtest.Safe(t, "code", ask.Body)
	f = ask.Hidden()
	f.Set("code", "12345x")
	if p := second.Post("/login/code", f); p.Code != http.StatusUnprocessableEntity || !strings.Contains(p.Body, "This code is not valid") {
		t.Errorf("a wrong code: %d %s", p.Code, webtest.Words(p.Body))
	}
	f.Set("code", webtest.Authenticator(t, secret, now()))
	if p := second.Post("/login/code", f); p.Code != http.StatusSeeOther || p.Location != "/plans" {
		t.Fatalf("a right code: %d %s %s", p.Code, p.Location, webtest.Words(p.Body))
	}
	if p := second.Get("/runs"); p.Code != http.StatusOK {
		t.Errorf("after the code: %d", p.Code)
	}
	off := webtest.Form(t, second.Get("/me/second-factor").Body, `value="off"`)
	off.Set("do", "off")
	if p := second.Post("/me/second-factor", off); p.Code != http.StatusSeeOther {
		t.Errorf("turn it off: %d %s", p.Code, webtest.Words(p.Body))
	}
	if !site.Browser(t).LoginAs("marta", webtest.Password) {
		t.Error("afterwards the password alone does not do")
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
		t.Fatalf("an old login: %d %s", ask.Code, webtest.Words(ask.Body))
	}
	webtest.Safe(t, "proof", ask.Body)
	if _, err := site.Auth.User(t.Context(), "olga"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Error("it was done before anybody proved anything")
	}
	again := ask.Hidden()
	again.Set("proof_password", "not the password")
	if p := b.Post("/settings/users", again); p.Code != http.StatusUnprocessableEntity ||
		!strings.Contains(p.Body, "Wrong password or code") {
		t.Errorf("a wrong password: %d %s", p.Code, webtest.Words(p.Body))
	}
	again.Set("proof_password", webtest.Password)
	if p := b.Post("/settings/users", again); p.Code != http.StatusSeeOther {
		t.Fatalf("the right password: %d %s", p.Code, webtest.Words(p.Body))
	}
	if _, _, err := site.Auth.Login(t.Context(), "olga", "a password of hers <&>", "10.0.0.1", ""); err != nil {
		t.Errorf("what was posted is not what was done: %v", err)
	}
	// The proof is valid for a while and then required again. Viewing pages never requires it.
	f = webtest.Form(t, b.Get("/settings/tokens").Body, `name="lifetime"`)
	f.Set("name", "ci")
	f.Set("role", "viewer")
	f.Set("lifetime", "24h")
	if p := b.Post("/settings/tokens", f); p.Code != http.StatusOK || !strings.Contains(p.Body, "shows it only once") {
		t.Errorf("a moment later: %d", p.Code)
	}
	ahead.Add(int64(auth.ConfirmFor))
	if p := b.Get("/settings/tokens"); p.Code != http.StatusOK {
		t.Errorf("looking: %d", p.Code)
	}
	f.Set("idem", "another")
	if p := b.Post("/settings/tokens", f); p.Code != http.StatusUnprocessableEntity {
		t.Errorf("later: %d", p.Code)
	}
	// The API requires the same proof for the same session.
	if p := b.Do(webtest.Request(t, http.MethodPost, site.URL+"/api/v1/users",
		`{"name":"otto","password":"a password of his","role":"viewer"}`, "Content-Type", "application/json", "Origin",
		site.URL, "Sec-Fetch-Site", "same-origin")); p.Code != http.StatusForbidden {
		t.Errorf("by the API: %d", p.Code)
	}
}
