package ui

import (
	"net/http"
)

// Done is the confirmation of an action, for actions without a visible effect on the next page.
type Done struct {
	Name    string // value of the cookie
	Path    string // pattern of the route
	Action  string // action of the form, for routes with several; empty if there is one
	Message string // text of the confirmation
}

// actionFields are the form fields that select one of several actions.
var actionFields = []string{"do", "session"}

// showDone makes the next page confirm the action. It uses a cookie, because a POST redirects to
// another address. The cookie only names an entry of the table, so a forged one cannot show other
// text.
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

// doneMessage returns the confirmation of the previous action, and deletes its cookie.
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
