package kairosd

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/assemble"
	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// stopped has the operations on accounts of a database that no daemon has open.
type stopped struct {
	users  *app.Accounts
	tokens *app.Tokens
}

func newStopped(s *store.Store, a *auth.Service) stopped {
	users, tokens := app.AccountsOf(s, a, time.Now)
	return stopped{users, tokens}
}

func as(by domain.Actor) app.Meta { return app.Meta{By: by} }

func (s stopped) Users(ctx context.Context) ([]domain.User, error) {
	return s.users.Users(ctx, assemble.LocalActor())
}

func (s stopped) CreateUser(ctx context.Context, by domain.Actor, name, password string, role domain.Role) (domain.User, error) {
	return s.users.CreateUser(ctx, app.NewUser{Meta: as(by), Name: name, Password: password, Role: role})
}

func (s stopped) UpdateUser(ctx context.Context, by domain.Actor, idOrName string, role *domain.Role, password *string,
	disabled *bool) (domain.User, error) {
	return s.users.UpdateUser(ctx, app.UserChange{Meta: as(by), User: idOrName, Role: role, Password: password, Disabled: disabled})
}

func (s stopped) LinkUser(ctx context.Context, by domain.Actor, idOrName, subject string) (domain.User, error) {
	return s.users.LinkUser(ctx, app.UserLink{Meta: as(by), User: idOrName, Subject: subject})
}

func (s stopped) EndSessions(ctx context.Context, by domain.Actor, idOrName string) error {
	return s.users.SignOut(ctx, app.SignOut{Meta: as(by), User: idOrName})
}

func (s stopped) DisableSecondFactor(ctx context.Context, by domain.Actor, idOrName string) error {
	return s.users.RemoveSecondFactor(ctx, app.UserNamed{Meta: as(by), User: idOrName})
}

func (s stopped) Tokens(ctx context.Context) ([]domain.Token, error) {
	return s.tokens.List(ctx, assemble.LocalActor())
}

func (s stopped) CreateToken(ctx context.Context, by domain.Actor, name string, role domain.Role, scopes []string,
	lifetime time.Duration) (string, domain.Token, error) {
	return s.tokens.Create(ctx, app.NewToken{Meta: as(by), Name: name, Role: role, Scopes: scopes, Lifetime: lifetime})
}

func (s stopped) RevokeToken(ctx context.Context, by domain.Actor, id, reason string) error {
	return s.tokens.Revoke(ctx, app.TokenChange{Meta: as(by), Token: id, Reason: reason})
}
