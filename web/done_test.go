package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// The page after an action confirms it once, in the reader's language. A forged cookie has no
// effect.
func TestThePageAfterAnActionConfirmsIt(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	u, err := site.Auth.CreateUser(t.Context(), site.Admin, "olga", webtest.Password, domain.RoleViewer)
	if err != nil {
		t.Fatal(err)
	}
	const said = `id="done"`
	page := "/settings/users/" + u.ID
	change := func(mark, do string, more ...string) webtest.Page {
		t.Helper()
		f := webtest.Form(t, b.Get(page).Body, mark)
		f.Set("do", do)
		for i := 0; i+1 < len(more); i += 2 {
			f.Set(more[i], more[i+1])
		}
		return b.Post(page, f)
	}
	if p := b.Get(page); strings.Contains(p.Body, said) {
		t.Error("a confirmation is shown before any action")
	}
	if p := change(`value="role"`, "role", "role", "author"); p.Code != http.StatusSeeOther || p.Location != page {
		t.Fatalf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, p.Location)
	}
	webtest.HasTexts(t, b.Get(page), http.StatusOK, said, "Role changed. All sessions of the user have ended.")
	if p := b.Get(page); strings.Contains(p.Body, said) {
		t.Error("the confirmation is shown again")
	}
	change(`value="disable"`, "disable")
	es, err := http.NewRequest(http.MethodGet, site.URL+page, nil)
	if err != nil {
		t.Fatal(err)
	}
	es.Header.Set("Accept-Language", "es")
	webtest.HasTexts(t, b.Do(es), http.StatusOK, said, "Se cerró la sesión del usuario, que ya no puede entrar.")
	if p := change(`value="password"`, "password", "password", "short"); p.Code != http.StatusUnprocessableEntity ||
		!strings.Contains(p.Body, "5 characters; the minimum is 12") {
		t.Errorf("a rejected action: got status %d, want %d: %s", p.Code, http.StatusUnprocessableEntity, webtest.Text(p.Body))
	}
	if p := b.Get(page); strings.Contains(p.Body, said) {
		t.Error("a confirmation is shown for a rejected action")
	}
	forged, err := http.NewRequest(http.MethodGet, site.URL+"/me", nil)
	if err != nil {
		t.Fatal(err)
	}
	forged.AddCookie(&http.Cookie{Name: "kairos-done", Value: "<b>you-are-hacked"})
	if p := b.Do(forged); p.Code != http.StatusOK || strings.Contains(p.Body, said) || strings.Contains(p.Body, "hacked") {
		t.Errorf("with a forged cookie: got status %d, want %d: %s", p.Code, http.StatusOK, webtest.Text(p.Body))
	}
}

// Actions that delete runs, and manual calls of tools with side effects, require a reason.
func TestActionsOfLevelTwoRequireAReason(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, "id: hello\nnodes:\n  greet: {type: set, input: 1}\n")
	site.Run(t, "hello", `null`)
	site.Run(t, "hello", `null`) // retention deletes the previous run
	b := site.Browser(t).Login()
	f := webtest.Form(t, b.Get("/settings/retention").Body, `name="reason"`)
	f.Set("reason", "  ")
	webtest.HasTexts(t, b.Post("/settings/retention", f), http.StatusUnprocessableEntity, "Enter a reason", "Expired data")
	f.Set("reason", "the disk is small")
	if p := b.Post("/settings/retention", f); p.Code != http.StatusSeeOther {
		t.Fatalf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	webtest.HasTexts(t, b.Get("/settings/retention"), http.StatusOK, "Expired data deleted.")
	webtest.HasTexts(t, b.Get("/audit?q=action:store.retention"), http.StatusOK, "the disk is small")

	const try = "/agents/tools/http/try"
	f = b.Get(try).Hidden()
	f.Set("input", `{"method": "POST", "url": "http://127.0.0.1:1/pay"}`)
	checked := b.Post(try, f)
	webtest.HasTexts(t, checked, http.StatusOK, `name="reason"`, "It cannot be undone")
	act := checked.Hidden()
	act.Set("input", f.Get("input"))
	act.Set("do", "run")
	webtest.HasTexts(t, b.Post(try, act), http.StatusUnprocessableEntity, "Enter a reason")
	act.Set("reason", "is it up?")
	p := b.Post(try, act)
	if p.Code != http.StatusSeeOther || !strings.HasPrefix(p.Location, "/runs/") {
		t.Fatalf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	webtest.HasTexts(t, b.Get(p.Location), http.StatusOK, "is it up?")
	f.Set("input", `{"method": "GET", "url": "http://127.0.0.1:1/"}`)
	if p := b.Post(try, f); p.Code != http.StatusOK || strings.Contains(p.Body, `name="reason"`) {
		t.Errorf("a read-only call requires a reason: got status %d, want %d", p.Code, http.StatusOK)
	}
}

// A failed login and a rejected password are explained in the reader's language.
func TestRefusedLoginsAreShownInSpanish(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	refused := func(b *webtest.Browser, path, fields string) webtest.Page {
		t.Helper()
		return b.Do(
			webtest.Request(
				t,
				http.MethodPost,
				site.URL+path,
				fields,
				"Accept-Language",
				"es",
				"Origin",
				site.URL,
				"Sec-Fetch-Site",
				"same-origin",
				"Content-Type",
				"application/x-www-form-urlencoded",
			),
		)
	}
	webtest.HasTexts(
		t,
		refused(site.Browser(t), "/login", "csrf=anonymous&name=marta&password=wrong"),
		http.StatusUnprocessableEntity,
		"El nombre o la contraseña no son correctos",
	)
	csrf := b.Get("/me").Hidden().Get("csrf")
	webtest.HasTexts(
		t,
		refused(b, "/me/password", "csrf="+csrf+"&old="+webtest.Password+"&password=corta&again=corta"),
		http.StatusUnprocessableEntity,
		"La contraseña tiene 5 caracteres; hacen falta al menos 12. Use varias palabras o un gestor de contraseñas",
	)
	webtest.HasTexts(
		t,
		refused(b, "/settings/users", "csrf="+csrf+"&name=marta&role=viewer&password=a+password+for+marta"),
		http.StatusUnprocessableEntity,
		"Ya hay un usuario «marta»",
	)
	var last webtest.Page
	for range 40 {
		if last = refused(site.Browser(t), "/login", "csrf=anonymous&name=nobody&password=wrong"); last.Code == http.StatusTooManyRequests {
			break
		}
	}
	webtest.HasTexts(t, last, http.StatusTooManyRequests, "Demasiados intentos.", `name="password"`)
}
