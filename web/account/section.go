// Package account has the pages of logging in, of one's own account, and of users, roles,
// and API tokens.
package account

import (
	"context"
	"net/url"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are what these pages need of the server.
type Ports struct {
	App      *app.App
	Auth     Auth
	Accounts Accounts // nil: there are no pages for users and tokens
}

// Auth is who may come in.
type Auth interface {
	// Login checks a name and password and opens a session; it is throttled
	// per account and address (CodeTooMany) and never tells which was wrong.
	Login(ctx context.Context, name, password, address, userAgent string) (secret string, u domain.User, err error)
	Logout(ctx context.Context, secret string) error
	// NeedsSetup reports whether there is no user yet.
	NeedsSetup(ctx context.Context) (bool, error)
	// Setup consumes the one-time setup secret, creates the first admin and opens
	// a session for them.
	Setup(ctx context.Context, setup, name, password, address, userAgent string) (secret string, u domain.User, err error)
	// Ways says whether passwords are taken, and the name of the identity provider
	// ("": there is none).
	Ways() (password bool, provider string)
	// BeginSSO gives the address of the identity provider and what the browser
	// keeps meanwhile; redirect is where the provider sends it back to.
	// CodeUnavailable when the provider does not answer.
	BeginSSO(ctx context.Context, redirect, next string) (address, kept string, err error)
	// FinishSSO opens a session for whom the provider vouches, by the query that it
	// sent the browser back with; next is what BeginSSO was given.
	FinishSSO(ctx context.Context, kept string, answer url.Values, address, userAgent string) (secret string, u domain.User, next string, err error)
	// LoginCode finishes a login that waits for a code: Login failed with an error in
	// whose chain is one with NeedsCode() string, the ticket.
	LoginCode(ctx context.Context, ticket, code, address, userAgent string) (secret string, u domain.User, err error)
	// SecondFactor reports whether a user has one, and how many recovery codes are
	// left; NewSecondFactor is a fresh secret, which counts once EnableSecondFactor
	// was given a code of it. It returns recovery codes, shown only then.
	SecondFactor(ctx context.Context, userID string) (on bool, left int, err error)
	NewSecondFactor() string
	// MustEnrol reports whether somebody must set up a second factor before anything
	// else.
	MustEnrol(ctx context.Context, u domain.User) (bool, error)
	EnableSecondFactor(ctx context.Context, u domain.User, secret, code, keep string) (recovery []string, err error)
	DisableSecondFactor(ctx context.Context, actor domain.Actor, idOrName string) error
	// FollowLink uses up a login link and opens a session.
	FollowLink(ctx context.Context, link, address, userAgent string) (secret string, u domain.User, err error)
}

// Accounts manages users and API tokens. Every change is recorded with its
// actor, and every refusal too.
type Accounts interface {
	Users(ctx context.Context) ([]domain.User, error)
	User(ctx context.Context, idOrName string) (domain.User, error)
	CreateUser(ctx context.Context, actor domain.Actor, name, password string, role domain.Role) (domain.User, error)
	// UpdateUser changes what is not nil; the last admin cannot be disabled or
	// made less (CodeConflict).
	UpdateUser(ctx context.Context, actor domain.Actor, idOrName string, role *domain.Role, password *string, disabled *bool) (domain.User, error)
	// LinkUser says who a user is at the identity provider; an empty subject ends
	// the link.
	LinkUser(ctx context.Context, actor domain.Actor, idOrName, subject string) (domain.User, error)
	// ChangePassword checks the old one, and ends all sessions but keep.
	ChangePassword(ctx context.Context, u domain.User, old, password, keep string) error
	Sessions(ctx context.Context, userID string) ([]domain.Session, error)
	EndSession(ctx context.Context, actor domain.Actor, userID, hash string) error
	// EndSessions ends all sessions of a user but the one with the secret keep.
	EndSessions(ctx context.Context, actor domain.Actor, idOrName, keep string) error
	Tokens(ctx context.Context) ([]domain.Token, error)
	// CreateToken returns the token's text, which cannot be seen again.
	CreateToken(ctx context.Context, actor domain.Actor, name string, role domain.Role, scopes []string, lifetime time.Duration) (string, domain.Token, error)
	RevokeToken(ctx context.Context, actor domain.Actor, id, reason string) error
}

type section struct{ Ports }

// Section returns the pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{Routes: s.routes(), Done: done}
}
