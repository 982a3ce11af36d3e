package web

import (
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// deeds are the acts of pages without a folder of their own after which a page says
// what was done.
var deeds = []ui.Done{
	{Name: "user-created", Path: "/settings/users", Says: locale.Mark("The user is created and may log in.")},
	{Name: "role-changed", Path: "/settings/users/:user", Act: "role", Says: locale.Mark("The role is changed; all their logins have ended.")},
	{Name: "password-set", Path: "/settings/users/:user", Act: "password", Says: locale.Mark("The password is set; all their logins have ended.")},
	{Name: "user-disabled", Path: "/settings/users/:user", Act: "disable", Says: locale.Mark("They are logged out and cannot log in any more.")},
	{Name: "user-enabled", Path: "/settings/users/:user", Act: "enable", Says: locale.Mark("They may log in again.")},
	{Name: "user-linked", Path: "/settings/users/:user", Act: "link", Says: locale.Mark("They log in with the identity provider now.")},
	{Name: "user-unlinked", Path: "/settings/users/:user", Act: "unlink", Says: locale.Mark("The link to the identity provider has ended.")},
	{Name: "second-taken", Path: "/settings/users/:user", Act: "second-factor-off", Says: locale.Mark("Their second factor is taken away.")},
	{Name: "logins-ended", Path: "/settings/users/:user", Act: "sign-out", Says: locale.Mark("Their logins have ended.")},
	{Name: "token-revoked", Path: "/settings/tokens/:token/revoke", Says: locale.Mark("The token is revoked: whatever uses it is refused from now on.")},
	{Name: "retained", Path: "/settings/retention", Says: locale.Mark("What retention says is removed.")},
	{Name: "tested", Path: "/settings/notifications/:channel/test", Says: locale.Mark("A test was made: the newest line of its list says what came of it.")},
	{Name: "rotated", Path: "/settings/secrets/:secret/rotate", Says: locale.Mark("The new value is in use.")},
	{Name: "my-password", Path: "/me/password", Says: locale.Mark("Your password is changed; your other logins have ended.")},
	{Name: "signed-out", Path: "/me/sessions", Says: locale.Mark("That login has ended.")},
	{Name: "others-out", Path: "/me/sessions", Act: "others", Says: locale.Mark("Your other logins have ended.")},
	{Name: "second-off", Path: "/me/second-factor", Act: "off", Says: locale.Mark("Your second factor is off.")},
	{Name: "opens-with", Path: "/views/default", Says: locale.Mark("What the run list opens with is changed.")},
	{Name: "forgotten", Path: "/memory/forget", Says: locale.Mark("The session remembers nothing any more.")},
	{Name: "run-paused", Path: "/runs/:run/:action", Act: "pause", Says: locale.Mark("The run is paused: it stops after the running step, if there is one.")},
	{Name: "run-continued", Path: "/runs/:run/:action", Act: "continue", Says: locale.Mark("The run goes on.")},
	{Name: "run-noted", Path: "/runs/:run/ack", Says: locale.Mark("Somebody knows of it now: the run needs attention no more.")},
	{Name: "failure-noted", Path: "/failures/ack", Says: locale.Mark("Somebody knows of it now: it needs attention no more.")},
	{Name: "failure-back", Path: "/failures/unack", Says: locale.Mark("It needs attention again.")},
	{Name: "plan-paused", Path: "/plans/:plan/pause", Act: "pause", Says: locale.Mark("No run of the plan starts any more. What is under way goes on.")},
	{Name: "plan-unpaused", Path: "/plans/:plan/pause", Act: "unpause", Says: locale.Mark("Runs of the plan start again.")},
	{Name: "logged-out", Path: "/logout", Says: locale.Mark("You are logged out.")},
	{Name: "released", Path: "/system/release", Says: locale.Mark("All held runs are released.")},
	{Name: "backed-up", Path: "/system/backup", Says: locale.Mark("The backup is made and verified.")},
	{Name: "tool-accepted", Path: "/agents/tools/:tool/accept", Says: locale.Mark("What the tool says now is accepted: it can be called again.")},
	{Name: "tool-stopped", Path: "/agents/tools/:tool/stop", Act: "stop", Says: locale.Mark("No call of it begins any more.")},
	{Name: "tool-started", Path: "/agents/tools/:tool/stop", Act: "start", Says: locale.Mark("It is called again.")},
	{Name: "provider-stopped", Path: "/agents/providers/:provider/stop", Act: "stop", Says: locale.Mark("No call of it begins any more.")},
	{Name: "provider-started", Path: "/agents/providers/:provider/stop", Act: "start", Says: locale.Mark("It is called again.")},
	{Name: "server-started", Path: "/agents/servers/:server/retry", Says: locale.Mark("The server is started again: its state is below.")},
}
