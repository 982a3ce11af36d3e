package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/app"
)

type userNamedIn struct {
	ID string `path:"id" maxLength:"64" doc:"The user's id or name."`
}

// signOutRoutes end sessions, for users who have lost a device.
func (h accountHandler) signOutRoutes(a *API) {
	tags := []string{"accounts"}
	mount(a, huma.Operation{OperationID: "sign-out-user", Method: http.MethodPost, Path: "/users/{id}/sign-out", Tags: tags,
		Summary: "End all sessions of a user"},
		func(ctx context.Context, in *userNamedIn) (*userDetailOut, error) {
			if err := h.accounts.SignOut(ctx, app.SignOut{Meta: meta(ctx), User: in.ID}); err != nil {
				return nil, err
			}
			return h.getUser(ctx, in)
		})
	mount(a, huma.Operation{OperationID: "remove-second-factor", Method: http.MethodDelete, Path: "/users/{id}/second-factor", Tags: tags,
		Summary: "Remove a user's second factor"},
		func(ctx context.Context, in *userNamedIn) (*userDetailOut, error) {
			if err := h.accounts.RemoveSecondFactor(ctx, app.UserNamed{Meta: meta(ctx), User: in.ID}); err != nil {
				return nil, err
			}
			return h.getUser(ctx, in)
		})
}
