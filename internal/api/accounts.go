package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// UserView is a user on the wire.
type UserView struct {
	ID         string      `json:"id"`
	Name       string      `json:"name"`
	Role       domain.Role `json:"role"`
	Disabled   bool        `json:"disabled"`
	Issuer     string      `json:"issuer,omitempty" doc:"The identity provider that knows the user."`
	Subject    string      `json:"subject,omitempty" doc:"What it knows the user as."`
	CreatedAt  time.Time   `json:"createdAt"`
	LastSeenAt time.Time   `json:"lastSeenAt,omitzero"`
}

// TokenView is an API token on the wire, without its secret.
type TokenView struct {
	ID           string      `json:"id"`
	Name         string      `json:"name"`
	Prefix       string      `json:"prefix" doc:"The first characters, to recognise it by."`
	Role         domain.Role `json:"role"`
	Scopes       []string    `json:"scopes" doc:"Empty: all that the role allows."`
	CreatedBy    string      `json:"createdBy"`
	CreatedAt    time.Time   `json:"createdAt"`
	ExpiresAt    time.Time   `json:"expiresAt"`
	LastUsedAt   time.Time   `json:"lastUsedAt,omitzero"`
	LastUsedFrom string      `json:"lastUsedFrom,omitempty" doc:"The address that it was last used from."`
	RevokedAt    time.Time   `json:"revokedAt,omitzero"`
}

// NewUserBody makes a user.
type NewUserBody struct {
	Name     string      `json:"name" minLength:"1" maxLength:"64"`
	Password string      `json:"password" maxLength:"1024"`
	Role     domain.Role `json:"role" enum:"viewer,operator,author,admin"`
}

// UserBody changes a user; what is absent stays.
type UserBody struct {
	Role     *domain.Role `json:"role,omitempty" enum:"viewer,operator,author,admin"`
	Password *string      `json:"password,omitempty" maxLength:"1024"`
	Disabled *bool        `json:"disabled,omitempty"`
}

// LinkBody says who a user is at the identity provider.
type LinkBody struct {
	Subject string `json:"subject" maxLength:"255" doc:"What the provider calls the user for ever; empty ends the link."`
}

// LoginLinkView is the secret of a login link.
type LoginLinkView struct {
	Token string `json:"token" doc:"For the page /login/link?token=…; it works once, for ten minutes."`
}

// NewTokenBody makes a token.
type NewTokenBody struct {
	Name      string      `json:"name" minLength:"1" maxLength:"64"`
	Role      domain.Role `json:"role" enum:"viewer,operator,author,admin"`
	Scopes    []string    `json:"scopes,omitempty" maxItems:"8" doc:"runs:read, runs:write, plans:read, plans:write, approvals, tokens, metrics, admin; none: all that the role allows."`
	ExpiresIn string      `json:"expiresIn,omitempty" maxLength:"32" doc:"A duration like 720h; absent: 90 days."`
}

// NewToken is a token with its text, which is shown only once.
type NewToken struct {
	TokenView
	Token string `json:"token"`
}

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
		Summary: "One user, with open logins"}, h.getUser)
	mount(a, huma.Operation{OperationID: "create-user", Method: http.MethodPost, Path: "/users", Tags: tags,
		Summary: "Make a user", DefaultStatus: http.StatusCreated}, h.createUser)
	mount(a, huma.Operation{OperationID: "update-user", Method: http.MethodPatch, Path: "/users/{id}", Tags: tags,
		Summary: "Change a user's role, password or access; ends the user's sessions"}, h.updateUser)
	mount(a, huma.Operation{OperationID: "link-user", Method: http.MethodPost, Path: "/users/{id}/link", Tags: tags,
		Summary: "Say who a user is at the identity provider; ends the user's sessions"}, h.linkUser)
	mount(a, huma.Operation{OperationID: "make-login-link", Method: http.MethodPost, Path: "/users/{id}/login-link", Tags: tags,
		Summary: "Make a link that logs a user in once; through the local socket only"}, h.loginLink)
	mount(a, huma.Operation{OperationID: "list-tokens", Method: http.MethodGet, Path: "/tokens", Tags: tags,
		Summary: "List API tokens, newest first"}, h.listTokens)
	mount(a, huma.Operation{OperationID: "get-token", Method: http.MethodGet, Path: "/tokens/{id}", Tags: tags,
		Summary: "One API token, without its secret"}, h.getToken)
	mount(a, huma.Operation{OperationID: "create-token", Method: http.MethodPost, Path: "/tokens", Tags: tags,
		Summary: "Make an API token; its text is shown only in this answer", DefaultStatus: http.StatusCreated}, h.createToken)
	mount(a, huma.Operation{OperationID: "revoke-token", Method: http.MethodDelete, Path: "/tokens/{id}", Tags: tags,
		Summary: "End an API token at once"}, h.revokeToken)
}

type usersOut struct{ Body List[UserView] }

func (h accountHandler) listUsers(ctx context.Context, in *PageIn) (*usersOut, error) {
	users, err := h.accounts.Users(ctx, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	page, err := pageOf(ctx, h.kernel, in, users, func(u domain.User) string { return u.ID }, viewUser)
	return &usersOut{page}, err
}

func viewUser(u domain.User) UserView {
	return UserView{
		ID:         u.ID,
		Name:       u.Name,
		Role:       u.Role,
		Disabled:   u.Disabled,
		Issuer:     u.Issuer,
		Subject:    u.Subject,
		CreatedAt:  u.CreatedAt,
		LastSeenAt: u.LastSeenAt,
	}
}

type createUserIn struct{ Body NewUserBody }

type userOut struct{ Body UserView }

func (h accountHandler) createUser(ctx context.Context, in *createUserIn) (*userOut, error) {
	u, err := h.accounts.CreateUser(ctx, app.NewUser{Meta: meta(ctx), Name: in.Body.Name, Password: in.Body.Password, Role: in.Body.Role})
	if err != nil {
		return nil, err
	}
	return &userOut{Body: viewUser(u)}, nil
}

type updateUserIn struct {
	ID   string `path:"id" maxLength:"64" doc:"The user's id or name."`
	Body UserBody
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
	return &userOut{Body: viewUser(u)}, nil
}

type linkUserIn struct {
	ID   string `path:"id" maxLength:"64" doc:"The user's id or name."`
	Body LinkBody
}

func (h accountHandler) linkUser(ctx context.Context, in *linkUserIn) (*userOut, error) {
	u, err := h.accounts.LinkUser(ctx, app.UserLink{Meta: meta(ctx), User: in.ID, Subject: in.Body.Subject})
	if err != nil {
		return nil, err
	}
	return &userOut{Body: viewUser(u)}, nil
}

type loginLinkIn struct {
	ID string `path:"id" maxLength:"64" doc:"The user's id or name."`
}

type loginLinkOut struct{ Body LoginLinkView }

func (h accountHandler) loginLink(ctx context.Context, in *loginLinkIn) (*loginLinkOut, error) {
	secret, err := h.accounts.MakeLoginLink(ctx, app.UserNamed{Meta: meta(ctx), User: in.ID})
	if err != nil {
		return nil, err
	}
	return &loginLinkOut{Body: LoginLinkView{Token: secret}}, nil
}

type tokensOut struct{ Body List[TokenView] }

func (h accountHandler) listTokens(ctx context.Context, in *PageIn) (*tokensOut, error) {
	tokens, err := h.tokens.List(ctx, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	page, err := pageOf(ctx, h.kernel, in, tokens, func(t domain.Token) string { return t.ID }, viewToken)
	return &tokensOut{page}, err
}

func viewToken(t domain.Token) TokenView {
	v := TokenView{ID: t.ID, Name: t.Name, Prefix: t.Prefix, Role: t.Role, Scopes: t.Scopes, CreatedBy: t.CreatedBy,
		CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt, LastUsedAt: t.LastUsedAt, LastUsedFrom: t.LastUsedFrom, RevokedAt: t.RevokedAt}
	if v.Scopes == nil {
		v.Scopes = []string{}
	}
	return v
}

type createTokenIn struct{ Body NewTokenBody }

type newTokenOut struct{ Body NewToken }

func (h accountHandler) createToken(ctx context.Context, in *createTokenIn) (*newTokenOut, error) {
	var lifetime time.Duration
	if in.Body.ExpiresIn != "" {
		var err error
		if lifetime, err = time.ParseDuration(in.Body.ExpiresIn); err != nil || lifetime <= 0 {
			return nil, domain.Errorf(domain.CodeInvalid, "expiresIn %.40q is no duration", in.Body.ExpiresIn).
				Suggest(`write a number and a unit, like "720h"`)
		}
	}
	b := in.Body
	text, t, err := h.tokens.Create(ctx, app.NewToken{Meta: meta(ctx), Name: b.Name, Role: b.Role, Scopes: b.Scopes, Lifetime: lifetime})
	if err != nil {
		return nil, err
	}
	return &newTokenOut{Body: NewToken{TokenView: viewToken(t), Token: text}}, nil
}

type revokeIn struct {
	ID     string `path:"id" maxLength:"64"`
	Reason string `query:"reason" maxLength:"500" doc:"Why; it goes to the audit log."`
}

func (h accountHandler) revokeToken(ctx context.Context, in *revokeIn) (*tokenOut, error) {
	if err := h.tokens.Revoke(ctx, app.TokenChange{Meta: meta(ctx), Token: in.ID, Reason: in.Reason}); err != nil {
		return nil, err
	}
	return h.getToken(ctx, &tokenIn{ID: in.ID})
}
