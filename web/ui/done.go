package ui

import (
	"net/http"
)

// Done is an action and its confirmation on the page that follows, where nothing on that page would show it
// otherwise.
type Done struct {
	Name string // of the cookie's value
	Path string // of the route
	Act  string // which of its acts, as its form or address names it; empty: the only one
	Says string // a message
}

// deedFields are the fields by which forms name one of several acts.
var deedFields = []string{"do", "session"}

// sayDone lets the next page confirm the action. It is in a cookie, because the answer to a form is another
// address (POST, 303). The cookie only names a row of the table, so a forged one cannot show other text.
func sayDone(c *Context) {
	if c.Echo.Request().Method != http.MethodPost {
		return
	}
	var of *Done
	for i, d := range c.Site.Done {
		if d.Path != c.Echo.Path() {
			continue
		}
		if d.Act == "" && of == nil {
			of = &c.Site.Done[i]
		}
		for _, f := range deedFields {
			if d.Act != "" && (c.Echo.FormValue(f) == d.Act || c.Echo.Param("action") == d.Act) {
				of = &c.Site.Done[i]
			}
		}
	}
	if of != nil {
		setDoneCookie(c, of.Name, 60)
	}
}

// whatWasDone is what the act before this page did, said once.
func whatWasDone(c *Context) string {
	if c.Echo.Request().Method != http.MethodGet || c.HTMX() {
		return ""
	}
	k, err := c.Echo.Cookie(doneCookieName(c))
	if err != nil || k.Value == "" {
		return ""
	}
	setDoneCookie(c, "", -1)
	for _, d := range c.Site.Done {
		if d.Name == k.Value {
			return c.T(d.Says)
		}
	}
	return ""
}

func doneCookieName(c *Context) string { return c.Site.CookieName(c.Echo.Request()) + "-done" }

func setDoneCookie(c *Context, name string, seconds int) {
	c.Echo.SetCookie(
		&http.Cookie{
			Name:     doneCookieName(c),
			Value:    name,
			Path:     "/",
			MaxAge:   seconds,
			HttpOnly: true,
			Secure:   c.Site.Secure(c.Echo.Request()),
			SameSite: http.SameSiteStrictMode,
		},
	)
}
