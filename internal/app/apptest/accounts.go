package apptest

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/domain"
)

// Accounts contains the operations on accounts and tokens, and authentication, for tests that
// concern neither requests nor their keys.
type Accounts struct {
	*auth.Service
	Of     *app.Accounts
	Keys   *app.Tokens
	Reader interface {
		User(ctx context.Context, idOrName string) (domain.User, error)
		Users(ctx context.Context) ([]domain.User, error)
		Tokens(ctx context.Context) ([]domain.Token, error)
	}
}

func by(who domain.Actor) app.Meta { return app.Meta{By: who} }

// User finds a user by id or name.
func (a Accounts) User(ctx context.Context, idOrName string) (domain.User, error) {
	return a.Reader.User(ctx, idOrName)
}

// Users lists all users by name.
func (a Accounts) Users(ctx context.Context) ([]domain.User, error) { return a.Reader.Users(ctx) }

// Tokens lists all tokens, newest first.
func (a Accounts) Tokens(ctx context.Context) ([]domain.Token, error) { return a.Reader.Tokens(ctx) }

// CreateUser creates a user.
func (a Accounts) CreateUser(ctx context.Context, who domain.Actor, name, password string, role domain.Role) (domain.User, error) {
	return a.Of.CreateUser(ctx, app.NewUser{Meta: by(who), Name: name, Password: password, Role: role})
}

// UpdateUser changes the fields that are not nil.
func (a Accounts) UpdateUser(
	ctx context.Context,
	who domain.Actor,
	idOrName string,
	role *domain.Role,
	password *string,
	disabled *bool,
) (domain.User, error) {
	return a.Of.UpdateUser(ctx, app.UserChange{Meta: by(who), User: idOrName, Role: role, Password: password, Disabled: disabled})
}

// LinkUser links a user to a subject of the identity provider.
func (a Accounts) LinkUser(ctx context.Context, who domain.Actor, idOrName, subject string) (domain.User, error) {
	return a.Of.LinkUser(ctx, app.UserLink{Meta: by(who), User: idOrName, Subject: subject})
}

// LoginLink creates a login link.
func (a Accounts) LoginLink(ctx context.Context, who domain.Actor, idOrName string) (string, error) {
	return a.Of.MakeLoginLink(ctx, app.UserNamed{Meta: by(who), User: idOrName})
}

// EndSessions ends all sessions of a user except the one with the secret keep.
func (a Accounts) EndSessions(ctx context.Context, who domain.Actor, idOrName, keep string) error {
	return a.Of.SignOut(ctx, app.SignOut{Meta: by(who), User: idOrName, Keep: app.SessionHash(keep)})
}

// EndSession ends one session of a user.
func (a Accounts) EndSession(ctx context.Context, who domain.Actor, idOrName, hash string) error {
	return a.Of.SignOut(ctx, app.SignOut{Meta: by(who), User: idOrName, Session: hash})
}

// EnableSecondFactor adds a second factor to a user.
func (a Accounts) EnableSecondFactor(ctx context.Context, u domain.User, secret, code, keep string) ([]string, error) {
	return a.Of.AddSecondFactor(
		ctx,
		app.Enrollment{Meta: by(auth.ActorOf(u, "ui")), Secret: secret, Code: code, Keep: app.SessionHash(keep)},
	)
}

// DisableSecondFactor removes a second factor.
func (a Accounts) DisableSecondFactor(ctx context.Context, who domain.Actor, idOrName string) error {
	return a.Of.RemoveSecondFactor(ctx, app.UserNamed{Meta: by(who), User: idOrName})
}

// ChangePassword changes the password of a user.
func (a Accounts) ChangePassword(ctx context.Context, u domain.User, old, password, keep string) error {
	return a.Of.ChangePassword(
		ctx,
		app.PasswordChange{Meta: by(auth.ActorOf(u, "ui")), Old: old, New: password, Keep: app.SessionHash(keep)},
	)
}

// CreateToken creates a token and returns its text.
func (a Accounts) CreateToken(
	ctx context.Context,
	who domain.Actor,
	name string,
	role domain.Role,
	scopes []string,
	lifetime time.Duration,
) (string, domain.Token, error) {
	return a.Keys.Create(ctx, app.NewToken{Meta: by(who), Name: name, Role: role, Scopes: scopes, Lifetime: lifetime})
}

// RevokeToken revokes a token.
func (a Accounts) RevokeToken(ctx context.Context, who domain.Actor, id, reason string) error {
	return a.Keys.Revoke(ctx, app.TokenChange{Meta: by(who), Token: id, Reason: reason})
}
