package account

import (
	"github.com/kairosd/kairosd/web/kit"
)

// LoginPage asks for name and password, offers the identity provider, or sets up
// the first user.
type LoginPage struct {
	kit.Shell
	Setup bool
	Token string
	Next  string
	Name  string
	Error string
	// Password shows the form; NoPassword explains what to do without it.
	Password bool
	// Provider is the words on the button that leads to the identity provider;
	// empty: there is none.
	Provider, ProviderHref string
	// SetupHint is true if there are no users yet.
	SetupHint bool
}

// LoggedInPage leads from the identity provider to the page that was wanted.
type LoggedInPage struct {
	kit.Shell
	Next string
}

// LoginLinkPage asks before a login link is used up.
type LoginLinkPage struct {
	kit.Shell
	Token string
	Error string
}
