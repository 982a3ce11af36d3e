package account

import (
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

func (s *section) routes() []ui.Route {
	return []ui.Route{
		{Get: "/login", Operation: app.LogIn, Handle: loginPages{s}.loginPage},
		{Post: "/login", Operation: app.LogIn, Handle: loginPages{s}.login},
		{Get: "/login/code", Operation: app.LogIn, Handle: loginPages{s}.loginPage},
		{Post: "/login/code", Operation: app.LogIn, Handle: s.loginCode},
		{Get: "/login/oidc", Operation: app.LogIn, Handle: loginPages{s}.toProvider},
		{Get: "/login/oidc/callback", Operation: app.LogIn, Handle: loginPages{s}.fromProvider},
		{Get: "/login/link", Operation: app.LogIn, Handle: loginPages{s}.linkPage},
		{Post: "/login/link", Operation: app.LogIn, Handle: loginPages{s}.followLink},
		{Get: "/setup", Operation: app.LogIn, Handle: loginPages{s}.setupPage},
		{Post: "/setup", Operation: app.LogIn, Handle: loginPages{s}.setup},
		{Post: "/logout", Operation: app.LogOut, Handle: loginPages{s}.logout},
		{Get: "/settings", Operation: app.GetSettings, Handle: ui.RedirectTo("/settings/users")},
		{Get: "/settings/users", Operation: app.ListUsers, Handle: s.users},
		{Post: "/settings/users", Operation: app.CreateUser, Handle: s.createUser},
		{Get: "/settings/users/:user", Operation: app.GetUser, Handle: s.user},
		{Post: "/settings/users/:user", Operation: app.UpdateUser, Handle: s.changeUser},
		{Get: "/settings/roles", Operation: app.ListUsers, Handle: s.roleSettings},
		{Get: "/settings/tokens", Operation: app.ListTokens, Handle: s.tokens},
		{Post: "/settings/tokens", Operation: app.CreateToken, Handle: s.createToken},
		{Get: "/settings/tokens/:token", Operation: app.ListTokens, Handle: ui.RedirectTo("/settings/tokens")},
		{Get: "/settings/tokens/:token/revoke", Operation: app.RevokeToken, Handle: s.revokeTokenPage},
		{Post: "/settings/tokens/:token/revoke", Operation: app.RevokeToken, Handle: s.revokeToken},
		{Get: "/me", Operation: app.GetMe, Handle: s.me},
		{Get: "/me/second-factor", Operation: app.ChangeSecondFactor, Handle: s.secondFactorPage},
		{Post: "/me/second-factor", Operation: app.ChangeSecondFactor, Handle: s.setSecondFactor},
		{Post: "/me/password", Operation: app.ChangePassword, Handle: s.changePassword},
		{Post: "/me/sessions", Operation: app.SignOutSelf, Handle: s.signOut},
	}
}

// actionMessages are the messages shown after an action.
var actionMessages = []ui.Done{
	{Name: "user-created", Path: "/settings/users", Message: locale.Mark("User created. The user can log in now.")},
	{
		Name:    "role-changed",
		Path:    "/settings/users/:user",
		Action:  "role",
		Message: locale.Mark("Role changed. All sessions of the user have ended."),
	},
	{
		Name:    "password-set",
		Path:    "/settings/users/:user",
		Action:  "password",
		Message: locale.Mark("Password set. All sessions of the user have ended."),
	},
	{
		Name:    "user-disabled",
		Path:    "/settings/users/:user",
		Action:  "disable",
		Message: locale.Mark("The user is logged out and can no longer log in."),
	},
	{Name: "user-enabled", Path: "/settings/users/:user", Action: "enable", Message: locale.Mark("The user can log in again.")},
	{Name: "user-linked", Path: "/settings/users/:user", Action: "link",
		Message: locale.Mark("The user now logs in with the identity provider.")},
	{
		Name:    "user-unlinked",
		Path:    "/settings/users/:user",
		Action:  "unlink",
		Message: locale.Mark("Link to the identity provider removed."),
	},
	{
		Name:    "second-taken",
		Path:    "/settings/users/:user",
		Action:  "second-factor-off",
		Message: locale.Mark("Second factor removed."),
	},
	{Name: "logins-ended", Path: "/settings/users/:user", Action: "sign-out", Message: locale.Mark("All sessions of the user have ended.")},
	{
		Name:    "token-revoked",
		Path:    "/settings/tokens/:token/revoke",
		Message: locale.Mark("Token revoked. Requests with it are refused from now on."),
	},
	{Name: "my-password", Path: "/me/password", Message: locale.Mark("Password changed. Your other logins have ended.")},
	{Name: "signed-out", Path: "/me/sessions", Message: locale.Mark("That login has ended.")},
	{Name: "others-out", Path: "/me/sessions", Action: "others", Message: locale.Mark("Your other logins have ended.")},
	{Name: "second-off", Path: "/me/second-factor", Action: "off", Message: locale.Mark("Your second factor is off.")},
	{Name: "logged-out", Path: "/logout", Message: locale.Mark("You are logged out.")},
}
