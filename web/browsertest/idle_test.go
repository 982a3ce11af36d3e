package browsertest

import (
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

// Before an idle session ends, the page warns, and one button extends the session. Typed text
// remains (WCAG 2.2.1). The test shortens the half hour of the page.
func TestTheEndOfALoginIsAnnounced(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	session := map[string]string{}
	for _, c := range site.Browser(t).Login().Cookies() {
		session[c.Name] = c.Value
	}
	b := newTab(t, site.URL).login(session)
	b.onEveryPage(`{ const later = window.setTimeout; let first = true;
		window.setTimeout = (f, ms, ...more) => { const long = ms > 1e6 && first; if (long) first = false; return later(f, long ? 300 : ms, ...more); }; }`)
	b.open("/settings/users")
	b.fill(`main form input[name="name"]`, "typed")
	const note = `document.querySelector('main > .note[role="alert"]')`
	b.until("the page says that the login ends", `!!`+note+` && !!`+note+`.querySelector("button")`)
	if text := eval[string](b, note+".textContent"); text != "Your login ends soon because of inactivity. Your input is "+
		"still there. Stay logged in" {
		t.Errorf("the page shows %q", text)
	}
	b.click(`main > .note[role="alert"] button`)
	b.until("the note is gone", `!`+note)
	if typed := eval[string](b, `document.querySelector('main form input[name="name"]').value`); typed != "typed" {
		t.Errorf("got typed text %q", typed)
	}
	b.quiet("/settings/users")
}
