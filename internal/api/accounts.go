package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// accountHandler serves users and API tokens.
type accountHandler struct {
	*kernel
	accounts *app.Accounts
	tokens   *app.Tokens
}

func (h accountHandler) routes(a *API) {
	h.signOutRoutes(a)
	tags := []string{"accounts"}
	mount(a, huma.Operation{OperationID: "list-users", Method: http.MethodGet, Path: "/users", Tags: tags,
		Summary: "List users"}, h.listUsers)
	mount(a, huma.Operation{OperationID: "get-user", Method: http.MethodGet, Path: "/users/{id}", Tags: tags,
		Summary: "Get a user with their sessions"}, h.getUser)
	mount(a, huma.Operation{OperationID: "create-user", Method: http.MethodPost, Path: "/users", Tags: tags,
		Summary: "Create a user", DefaultStatus: http.StatusCreated}, h.createUser)
	mount(a, huma.Operation{OperationID: "update-user", Method: http.MethodPatch, Path: "/users/{id}", Tags: tags,
		Summary: "Change a user's role, password, or access, and end their sessions"}, h.updateUser)
	mount(a, huma.Operation{OperationID: "link-user", Method: http.MethodPost, Path: "/users/{id}/link", Tags: tags,
		Summary: "Link a user to the identity provider, and end their sessions"}, h.linkUser)
	mount(a, huma.Operation{OperationID: "make-login-link", Method: http.MethodPost, Path: "/users/{id}/login-link", Tags: tags,
		Summary: "Create a one-time login link (local socket only)"}, h.loginLink)
	mount(a, huma.Operation{OperationID: "list-tokens", Method: http.MethodGet, Path: "/tokens", Tags: tags,
		Summary: "List API tokens, newest first"}, h.listTokens)
	mount(a, huma.Operation{OperationID: "get-token", Method: http.MethodGet, Path: "/tokens/{id}", Tags: tags,
		Summary: "Get an API token, without its secret"}, h.getToken)
	mount(a, huma.Operation{OperationID: "create-token", Method: http.MethodPost, Path: "/tokens", Tags: tags,
		Summary: "Create an API token; only this response shows it", DefaultStatus: http.StatusCreated}, h.createToken)
	mount(a, huma.Operation{OperationID: "revoke-token", Method: http.MethodDelete, Path: "/tokens/{id}", Tags: tags,
		Summary: "Revoke an API token"}, h.revokeToken)
}

type usersOut struct{ Body apitypes.List[apitypes.User] }

func (h accountHandler) listUsers(ctx context.Context, in *ListIn) (*usersOut, error) {
	users, err := h.accounts.Users(ctx, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	page, err := pageOf(ctx, h.kernel, in, users, func(u domain.User) string { return u.ID }, apitypes.UserOf)
	return &usersOut{page}, err
}

type createUserIn struct{ Body apitypes.UserCreate }

type userOut struct{ Body apitypes.User }

type createdUserOut struct {
	Location string `header:"Location"`
	Body     apitypes.User
}

func (h accountHandler) createUser(ctx context.Context, in *createUserIn) (*createdUserOut, error) {
	u, err := h.accounts.CreateUser(ctx, app.NewUser{Meta: meta(ctx), Name: in.Body.Name, Password: in.Body.Password, Role: in.Body.Role})
	if err != nil {
		return nil, err
	}
	return &createdUserOut{Base + "/users/" + u.ID, apitypes.UserOf(u)}, nil
}

type updateUserIn struct {
	ID   string `path:"id" maxLength:"64" doc:"The user's id or name."`
	Body apitypes.UserUpdate
}

func (h accountHandler) updateUser(ctx context.Context, in *updateUserIn) (*userOut, error) {
	b := in.Body
	u, err := h.accounts.UpdateUser(
		ctx,
		app.UserChange{Meta: meta(ctx), User: in.ID, Role: b.Role, Password: b.Password, Disabled: b.Disabled},
	)
	if err != nil {
		return nil, err
	}
	return &userOut{Body: apitypes.UserOf(u)}, nil
}

type linkUserIn struct {
	ID   string `path:"id" maxLength:"64" doc:"The user's id or name."`
	Body apitypes.UserLink
}

func (h accountHandler) linkUser(ctx context.Context, in *linkUserIn) (*userOut, error) {
	u, err := h.accounts.LinkUser(ctx, app.UserLink{Meta: meta(ctx), User: in.ID, Subject: in.Body.Subject})
	if err != nil {
		return nil, err
	}
	return &userOut{Body: apitypes.UserOf(u)}, nil
}

type loginLinkIn struct {
	ID string `path:"id" maxLength:"64" doc:"The user's id or name."`
}

type loginLinkOut struct{ Body apitypes.LoginLink }

func (h accountHandler) loginLink(ctx context.Context, in *loginLinkIn) (*loginLinkOut, error) {
	secret, err := h.accounts.MakeLoginLink(ctx, app.UserNamed{Meta: meta(ctx), User: in.ID})
	if err != nil {
		return nil, err
	}
	return &loginLinkOut{Body: apitypes.LoginLink{Token: secret}}, nil
}

type tokensOut struct{ Body apitypes.List[apitypes.Token] }

func (h accountHandler) listTokens(ctx context.Context, in *ListIn) (*tokensOut, error) {
	tokens, err := h.tokens.List(ctx, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	page, err := pageOf(ctx, h.kernel, in, tokens, func(t domain.Token) string { return t.ID }, apitypes.TokenOf)
	return &tokensOut{page}, err
}

type createTokenIn struct{ Body apitypes.TokenCreate }

type newTokenOut struct {
	Location string `header:"Location"`
	Body     apitypes.CreatedToken
}

func (h accountHandler) createToken(ctx context.Context, in *createTokenIn) (*newTokenOut, error) {
	var lifetime time.Duration
	if in.Body.ExpiresIn != "" {
		var err error
		if lifetime, err = domain.ParseDuration(in.Body.ExpiresIn); err != nil || lifetime <= 0 {
			return nil, domain.Errorf(domain.CodeInvalid, "expiresIn: invalid duration %.40q", in.Body.ExpiresIn).
				Suggest("use a duration, such as 720h or P30D")
		}
	}
	b := in.Body
	text, t, err := h.tokens.Create(ctx, app.NewToken{Meta: meta(ctx), Name: b.Name, Role: b.Role, Scopes: b.Scopes, Lifetime: lifetime})
	if err != nil {
		return nil, err
	}
	return &newTokenOut{Base + "/tokens/" + t.ID, apitypes.CreatedToken{Token: apitypes.TokenOf(t), Text: text}}, nil
}

type revokeIn struct {
	ID     string `path:"id" maxLength:"64"`
	Reason string `query:"reason" maxLength:"500" doc:"Kept in the audit log."`
}

func (h accountHandler) revokeToken(ctx context.Context, in *revokeIn) (*tokenOut, error) {
	if err := h.tokens.Revoke(ctx, app.TokenChange{Meta: meta(ctx), Token: in.ID, Reason: in.Reason}); err != nil {
		return nil, err
	}
	return h.getToken(ctx, &tokenIn{ID: in.ID})
}
