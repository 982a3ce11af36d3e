// Package account serves the login pages, the account page of the user, and the pages of users,
// roles, and API tokens.
package account

import (
	"context"
	"net/url"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are the dependencies of these pages.
type Ports struct {
	App  *app.App
	Auth Auth
}

// Auth authenticates users.
type Auth interface {
	// Login checks a name and password and opens a session. It is rate limited by account and
	// address (CodeTooMany). Its error does not reveal which of the two was wrong.
	Login(ctx context.Context, name, password, address, userAgent string) (secret string, u domain.User, err error)
	Logout(ctx context.Context, secret string) error
	// NeedsSetup reports whether there are no users yet.
	NeedsSetup(ctx context.Context) (bool, error)
	// Setup uses up the one-time setup secret, creates the first admin, and opens a session.
	Setup(ctx context.Context, setup, name, password, address, userAgent string) (secret string, u domain.User, err error)
	// LoginMethods returns whether passwords are accepted, and the name of the identity provider,
	// which is empty if none is configured.
	LoginMethods() (password bool, provider string)
	// BeginSSO returns the address of the identity provider, and the value that the browser stores
	// during the login. redirect is the callback address. It returns CodeUnavailable if the
	// provider does not respond.
	BeginSSO(ctx context.Context, redirect, next string) (address, kept string, err error)
	// FinishSSO opens a session for the user whom the provider authenticated. answer is the query
	// of the callback. next is the value passed to BeginSSO.
	FinishSSO(
		ctx context.Context,
		kept string,
		answer url.Values,
		address, userAgent string,
	) (secret string, u domain.User, next string, err error)
	// LoginCode completes a login for which Login returned an error with a method NeedsCode()
	// string. That method returns the ticket.
	LoginCode(ctx context.Context, ticket, code, address, userAgent string) (secret string, u domain.User, err error)
	// NewSecondFactor returns a new secret. It takes effect when app.Accounts.AddSecondFactor
	// receives a valid code.
	NewSecondFactor() string
	// SecondFactor reports whether a user has a second factor, and how many recovery codes are
	// left.
	SecondFactor(ctx context.Context, userID string) (on bool, left int, err error)
	// MustEnrol reports whether a user must set up a second factor before anything else.
	MustEnrol(ctx context.Context, u domain.User) (bool, error)
	// FollowLink uses up a login link and opens a session.
	FollowLink(ctx context.Context, link, address, userAgent string) (secret string, u domain.User, err error)
}

type section struct{ Ports }

// Section returns the routes and messages of these pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{Routes: s.routes(), Done: actionMessages}
}
