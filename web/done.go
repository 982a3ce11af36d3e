package web

import (
	"net/http"

	"github.com/kairosd/kairosd/web/locale"
)

// deed is an act and what the page that follows it says was done: where
// nothing on that page would show it otherwise.
type deed struct {
	name string // of the cookie's value
	path string // of the route
	act  string // which of its acts, as its form or address names it; empty: the only one
	says string
}

// deeds are all that say so.
var deeds = []deed{
	{"user-created", "/settings/users", "", locale.Mark("The user is created and may log in.")},
	{"role-changed", "/settings/users/:user", "role", locale.Mark("The role is changed; all their logins have ended.")},
	{"password-set", "/settings/users/:user", "password", locale.Mark("The password is set; all their logins have ended.")},
	{"user-disabled", "/settings/users/:user", "disable", locale.Mark("They are logged out and cannot log in any more.")},
	{"user-enabled", "/settings/users/:user", "enable", locale.Mark("They may log in again.")},
	{"user-linked", "/settings/users/:user", "link", locale.Mark("They log in with the identity provider now.")},
	{"user-unlinked", "/settings/users/:user", "unlink", locale.Mark("The link to the identity provider has ended.")},
	{"second-taken", "/settings/users/:user", "second-factor-off", locale.Mark("Their second factor is taken away.")},
	{"logins-ended", "/settings/users/:user", "sign-out", locale.Mark("Their logins have ended.")},
	{"token-revoked", "/settings/tokens/:token/revoke", "", locale.Mark("The token is revoked: whatever uses it is refused from now on.")},
	{"retained", "/settings/retention", "", locale.Mark("What retention says is removed.")},
	{"tested", "/settings/notifications/:channel/test", "", locale.Mark("A test was made: the newest line of its list says what came of it.")},
	{"rotated", "/settings/secrets/:secret/rotate", "", locale.Mark("The new value is in use.")},
	{"my-password", "/me/password", "", locale.Mark("Your password is changed; your other logins have ended.")},
	{"signed-out", "/me/sessions", "", locale.Mark("That login has ended.")},
	{"others-out", "/me/sessions", "others", locale.Mark("Your other logins have ended.")},
	{"second-off", "/me/second-factor", "off", locale.Mark("Your second factor is off.")},
	{"opens-with", "/views/default", "", locale.Mark("What the run list opens with is changed.")},
	{"forgotten", "/memory/forget", "", locale.Mark("The session remembers nothing any more.")},
	{"run-paused", "/runs/:run/:action", "pause", locale.Mark("The run is paused: it stops after the running step, if there is one.")},
	{"run-continued", "/runs/:run/:action", "continue", locale.Mark("The run goes on.")},
	{"run-noted", "/runs/:run/ack", "", locale.Mark("Somebody knows of it now: the run needs attention no more.")},
	{"failure-noted", "/failures/ack", "", locale.Mark("Somebody knows of it now: it needs attention no more.")},
	{"failure-back", "/failures/unack", "", locale.Mark("It needs attention again.")},
	{"plan-paused", "/plans/:plan/pause", "pause", locale.Mark("No run of the plan starts any more. What is under way goes on.")},
	{"plan-unpaused", "/plans/:plan/pause", "unpause", locale.Mark("Runs of the plan start again.")},
	{"logged-out", "/logout", "", locale.Mark("You are logged out.")},
	{"released", "/system/release", "", locale.Mark("All held runs are released.")},
	{"backed-up", "/system/backup", "", locale.Mark("The backup is made and verified.")},
	{"verifying", "/audit/verify", "", locale.Mark("The chain is being verified; what is found will stand below.")},
	{"tool-accepted", "/agents/tools/:tool/accept", "", locale.Mark("What the tool says now is accepted: it can be called again.")},
	{"tool-stopped", "/agents/tools/:tool/stop", "stop", locale.Mark("No call of it begins any more.")},
	{"tool-started", "/agents/tools/:tool/stop", "start", locale.Mark("It is called again.")},
	{"provider-stopped", "/agents/providers/:provider/stop", "stop", locale.Mark("No call of it begins any more.")},
	{"provider-started", "/agents/providers/:provider/stop", "start", locale.Mark("It is called again.")},
	{"server-started", "/agents/servers/:server/retry", "", locale.Mark("The server is started again: its state is below.")},
}

// deedFields are the fields by which forms name one of several acts.
var deedFields = []string{"do", "session"}

// sayDone lets the next page say what was done. It is in a cookie, for the answer
// to a form is another address (POST, 303), and only ever names a row of the table:
// whoever writes the cookie can make a page say nothing else.
func (r *request) sayDone() {
	if r.c.Request().Method != http.MethodPost {
		return
	}
	var of *deed
	for i, d := range deeds {
		if d.path != r.c.Path() {
			continue
		}
		if d.act == "" && of == nil {
			of = &deeds[i]
		}
		for _, f := range deedFields {
			if d.act != "" && (r.c.FormValue(f) == d.act || r.c.Param("action") == d.act) {
				of = &deeds[i]
			}
		}
	}
	if of != nil {
		r.setDoneCookie(of.name, 60)
	}
}

// whatWasDone is what the act before this page did, said once.
func (r *request) whatWasDone() string {
	if r.c.Request().Method != http.MethodGet || r.htmx() {
		return ""
	}
	c, err := r.c.Cookie(r.doneCookieName())
	if err != nil || c.Value == "" {
		return ""
	}
	r.setDoneCookie("", -1)
	for _, d := range deeds {
		if d.name == c.Value {
			return r.t(d.says)
		}
	}
	return ""
}

func (r *request) doneCookieName() string { return r.s.cookieName(r.c.Request()) + "-done" }

func (r *request) setDoneCookie(name string, seconds int) {
	r.c.SetCookie(&http.Cookie{Name: r.doneCookieName(), Value: name, Path: "/", MaxAge: seconds, HttpOnly: true, Secure: r.s.secure(r.c.Request()), SameSite: http.SameSiteStrictMode})
}
