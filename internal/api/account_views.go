package api

import (
	"context"

	"github.com/kairosd/kairosd/internal/apitypes"
)

type userDetailOut struct{ Body apitypes.UserDetail }

func (h accountHandler) getUser(ctx context.Context, in *userNamedIn) (*userDetailOut, error) {
	u, err := h.accounts.User(ctx, actorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	sessions, err := h.accounts.Sessions(ctx, actorOf(ctx), u.ID)
	if err != nil {
		return nil, err
	}
	v := apitypes.UserDetail{User: apitypes.UserOf(u), HasPassword: u.PasswordHash != "", Logins: make([]apitypes.Login, 0, len(sessions))}
	if v.SecondFactor, _, err = h.accounts.SecondFactor(ctx, actorOf(ctx), u.ID); err != nil {
		return nil, err
	}
	for _, s := range sessions {
		v.Logins = append(
			v.Logins,
			apitypes.Login{CreatedAt: s.CreatedAt, LastSeenAt: s.SeenAt, ExpiresAt: s.ExpiresAt, Address: s.Address, Agent: s.Agent},
		)
	}
	return &userDetailOut{Body: v}, nil
}

type tokenIn struct {
	ID string `path:"id" maxLength:"64"`
}

type tokenOut struct{ Body apitypes.Token }

func (h accountHandler) getToken(ctx context.Context, in *tokenIn) (*tokenOut, error) {
	t, err := h.tokens.Get(ctx, actorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &tokenOut{Body: apitypes.TokenOf(t)}, nil
}
