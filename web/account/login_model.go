package account

import (
	"github.com/kairosd/kairosd/web/kit"
)

// LoginPage is the model of the login form, and of the form that creates the first user.
type LoginPage struct {
	kit.Shell
	Setup bool
	Token string
	Next  string
	Name  string
	Error string
	// Password shows the password form.
	Password bool
	// Provider is the label of the link to the identity provider. It is empty if none is
	// configured.
	Provider, ProviderHref string
	// SetupHint is set if there are no users yet.
	SetupHint bool
}

// LoggedInPage continues to the requested page after a login through the identity provider.
type LoggedInPage struct {
	kit.Shell
	Next string
}

// LoginLinkPage confirms the use of a login link.
type LoginLinkPage struct {
	kit.Shell
	Token string
	Error string
}
