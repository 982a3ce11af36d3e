package ui

import (
	"net/http"
)

// Done is an action and its confirmation on the page that follows, where nothing on that page would show it
// otherwise.
type Done struct {
	Name    string // of the cookie's value
	Path    string // of the route
	Action  string // which of its acts, as its form or address names it; empty: the only one
	Message string // a message
}

// actionFields are the fields by which forms name one of several acts.
var actionFields = []string{"do", "session"}

// showDone lets the next page confirm the action. It is in a cookie, because the answer to a form is another
// address (POST, 303). The cookie only names a row of the table, so a forged one cannot show other text.
func showDone(c *Context) {
	if c.Echo.Request().Method != http.MethodPost {
		return
	}
	var of *Done
	for i, d := range c.Site.Done {
		if d.Path != c.Echo.Path() {
			continue
		}
		if d.Action == "" && of == nil {
			of = &c.Site.Done[i]
		}
		for _, f := range actionFields {
			if d.Action != "" && (c.Echo.FormValue(f) == d.Action || c.Echo.Param("action") == d.Action) {
				of = &c.Site.Done[i]
			}
		}
	}
	if of != nil {
		setDoneCookie(c, of.Name, 60)
	}
}

// doneMessage is what the act before this page did, said once.
func doneMessage(c *Context) string {
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
			return c.T(d.Message)
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
