package ui

import (
	"github.com/kairosd/kairosd/web/locale"
)

// What those say who look after users, logins, tokens and secrets.
func init() {
	saidTexts = append(saidTexts,
		locale.Mark("this installation is not set up yet"),
		locale.Mark("let an admin log in first, or open the link that kairosd printed when it started"),
		locale.Mark("%s has no second factor"),
		locale.Mark("user %s is disabled"),
		locale.Mark("there is no role %q"),
		locale.Mark("roles are viewer, operator, author and admin"),
		locale.Mark("there is no scope %q"),
		locale.Mark("scopes are %s"),
		locale.Mark("a subject has 1 to 255 printable characters"),
		locale.Mark("ask an admin"),
		locale.Mark("ask an admin of kairosd for an account; at %s you are %s"),
		locale.Mark("the file of the secret %s holds the value that is in use"),
	)
}
