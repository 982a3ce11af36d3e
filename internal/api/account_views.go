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

func (h accountHandler) getUser(ctx context.Context, in *userNamedIn) (*userDetailOut, error) {
	u, err := h.accounts.User(ctx, actorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	sessions, err := h.accounts.Sessions(ctx, actorOf(ctx), u.ID)
	if err != nil {
		return nil, err
	}
	v := UserDetailView{UserView: viewUser(u), HasPassword: u.PasswordHash != "", Logins: make([]LoginView, 0, len(sessions))}
	if v.SecondFactor, _, err = h.accounts.SecondFactor(ctx, actorOf(ctx), u.ID); err != nil {
		return nil, err
	}
	for _, s := range sessions {
		v.Logins = append(
			v.Logins,
			LoginView{CreatedAt: s.CreatedAt, LastSeenAt: s.SeenAt, ExpiresAt: s.ExpiresAt, Address: s.Address, Agent: s.Agent},
		)
	}
	return &userDetailOut{Body: v}, nil
}

type tokenIn struct {
	ID string `path:"id" maxLength:"64"`
}

type tokenOut struct{ Body TokenView }

func (h accountHandler) getToken(ctx context.Context, in *tokenIn) (*tokenOut, error) {
	t, err := h.tokens.Get(ctx, actorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &tokenOut{Body: viewToken(t)}, nil
}
