// Package account has the pages of logging in, of one's own account, and of users, roles,
// and API tokens.
package account

import (
	"context"
	"net/url"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are what these pages need of the server.
type Ports struct {
	App  *app.App
	Auth Auth
}

// Auth is who may come in.
type Auth interface {
	// Login checks a name and password and opens a session. It is throttled per account and address
	// (CodeTooMany), and its error never reveals which was wrong.
	Login(ctx context.Context, name, password, address, userAgent string) (secret string, u domain.User, err error)
	Logout(ctx context.Context, secret string) error
	// NeedsSetup reports whether there is no user yet.
	NeedsSetup(ctx context.Context) (bool, error)
	// Setup consumes the one-time setup secret, creates the first admin and opens
	// a session for them.
	Setup(ctx context.Context, setup, name, password, address, userAgent string) (secret string, u domain.User, err error)
	// LoginMethods returns whether passwords are accepted, and the name of the identity provider ("": there is none).
	LoginMethods() (password bool, provider string)
	// BeginSSO gives the address of the identity provider and what the browser
	// keeps meanwhile; redirect is where the provider sends it back to.
	// CodeUnavailable when the provider does not answer.
	BeginSSO(ctx context.Context, redirect, next string) (address, kept string, err error)
	// FinishSSO opens a session for whom the provider vouches, by the query that it
	// sent the browser back with; next is what BeginSSO was given.
	FinishSSO(
		ctx context.Context,
		kept string,
		answer url.Values,
		address, userAgent string,
	) (secret string, u domain.User, next string, err error)
	// LoginCode finishes a login that waits for a code: Login failed with an error in
	// whose chain is one with NeedsCode() string, the ticket.
	LoginCode(ctx context.Context, ticket, code, address, userAgent string) (secret string, u domain.User, err error)
	// NewSecondFactor is a fresh secret, which counts once app.Accounts.AddSecondFactor
	// was given a code of it.
	NewSecondFactor() string
	// SecondFactor reports whether a user has one, and how many recovery codes are left.
	SecondFactor(ctx context.Context, userID string) (on bool, left int, err error)
	// MustEnrol reports whether a user must set up a second factor before anything else.
	MustEnrol(ctx context.Context, u domain.User) (bool, error)
	// FollowLink uses up a login link and opens a session.
	FollowLink(ctx context.Context, link, address, userAgent string) (secret string, u domain.User, err error)
}

type section struct{ Ports }

// Section returns the pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{Routes: s.routes(), Done: done}
}
