package api

import (
	"context"
	"time"
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
	u, err := a.App.Accounts.User(ctx, actorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	sessions, err := a.App.Accounts.Sessions(ctx, actorOf(ctx), u.ID)
	if err != nil {
		return nil, err
	}
	v := UserDetailView{UserView: viewUser(u), HasPassword: u.PasswordHash != "", Logins: make([]LoginView, 0, len(sessions))}
	if v.SecondFactor, _, err = a.App.Accounts.SecondFactor(ctx, actorOf(ctx), u.ID); err != nil {
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
	t, err := a.App.Tokens.Get(ctx, actorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &tokenOut{Body: viewToken(t)}, nil
}
