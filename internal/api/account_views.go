package api

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// UserDetailView is one user with how the user comes in, without any secret.
type UserDetailView struct {
	UserView
	HasPassword  bool        `json:"hasPassword"`
	SecondFactor bool        `json:"secondFactor" doc:"A login asks for a code as well."`
	Logins       []LoginView `json:"logins" doc:"Open ones."`
}

// LoginView is an open login, without what proves it.
type LoginView struct {
	CreatedAt  time.Time `json:"createdAt"`
	LastSeenAt time.Time `json:"lastSeenAt"`
	ExpiresAt  time.Time `json:"expiresAt"`
	Address    string    `json:"address"`
	Agent      string    `json:"agent" doc:"What the browser says it is."`
}

type userDetailOut struct{ Body UserDetailView }

func (a *API) getUser(ctx context.Context, in *userNamedIn) (*userDetailOut, error) {
	acc, err := a.accounts()
	if err != nil {
		return nil, err
	}
	u, err := acc.User(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	sessions, err := acc.Sessions(ctx, u.ID)
	if err != nil {
		return nil, err
	}
	v := UserDetailView{UserView: viewUser(u), HasPassword: u.PasswordHash != "", Logins: make([]LoginView, 0, len(sessions))}
	if v.SecondFactor, _, err = acc.SecondFactor(ctx, u.ID); err != nil {
		return nil, err
	}
	for _, s := range sessions {
		v.Logins = append(v.Logins, LoginView{CreatedAt: s.CreatedAt, LastSeenAt: s.SeenAt, ExpiresAt: s.ExpiresAt, Address: s.Address, Agent: s.Agent})
	}
	return &userDetailOut{Body: v}, nil
}

type tokenIn struct {
	ID string `path:"id" maxLength:"64"`
}

type tokenOut struct{ Body TokenView }

func (a *API) getToken(ctx context.Context, in *tokenIn) (*tokenOut, error) {
	acc, err := a.accounts()
	if err != nil {
		return nil, err
	}
	tokens, err := acc.Tokens(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range tokens {
		if t.ID == in.ID {
			return &tokenOut{Body: viewToken(t)}, nil
		}
	}
	return nil, domain.Errorf(domain.CodeNotFound, "there is no token %.40q", in.ID)
}
