package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
)

// DaemonVersion returns the version of the daemon. It is the cheapest way to check that a daemon
// responds and accepts the token.
func (c *Client) DaemonVersion(ctx context.Context) (apitypes.Version, error) {
	var out apitypes.Version
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/version", into: &out})
	return out, err
}

// Me returns the principal of the client.
func (c *Client) Me(ctx context.Context) (domain.Actor, error) {
	var out apitypes.Me
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/me", into: &out})
	return domain.Actor{Name: out.Name, Role: out.Role, Source: out.Source}, err
}

// Users lists all users by name, without credentials.
func (c *Client) Users(ctx context.Context) ([]domain.User, error) {
	items, err := all[apitypes.User](ctx, c, "/users", nil, 0)
	return mapList(list[apitypes.User]{Items: items}, apitypes.User.Domain).Items, err
}

// CreateUser creates a user.
func (c *Client) CreateUser(ctx context.Context, _ domain.Actor, name, password string, role domain.Role) (domain.User, error) {
	var out apitypes.User
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/users", into: &out, body: struct {
		Name     string      `json:"name"`
		Password string      `json:"password"`
		Role     domain.Role `json:"role"`
	}{name, password, role}})
	return out.Domain(), err
}

// UpdateUser changes the fields that are not nil, and ends the user's sessions.
func (c *Client) UpdateUser(
	ctx context.Context,
	_ domain.Actor,
	idOrName string,
	role *domain.Role,
	password *string,
	disabled *bool,
) (domain.User, error) {
	var out apitypes.User
	_, err := c.do(ctx, call{method: http.MethodPatch, path: "/users/" + url.PathEscape(idOrName), into: &out, body: struct {
		Role     *domain.Role `json:"role,omitempty"`
		Password *string      `json:"password,omitempty"`
		Disabled *bool        `json:"disabled,omitempty"`
	}{role, password, disabled}})
	return out.Domain(), err
}

// LinkUser links a user to an identity provider; "" removes the link.
func (c *Client) LinkUser(ctx context.Context, _ domain.Actor, idOrName, subject string) (domain.User, error) {
	var out apitypes.User
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/users/" + url.PathEscape(idOrName) + "/link", into: &out, body: struct {
		Subject string `json:"subject"`
	}{subject}})
	return out.Domain(), err
}

// EndSessions ends all sessions of a user.
func (c *Client) EndSessions(ctx context.Context, _ domain.Actor, idOrName string) error {
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/users/" + url.PathEscape(idOrName) + "/sign-out"})
	return err
}

// DisableSecondFactor removes a user's second factor.
func (c *Client) DisableSecondFactor(ctx context.Context, _ domain.Actor, idOrName string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: "/users/" + url.PathEscape(idOrName) + "/second-factor"})
	return err
}

// LoginLink creates a link that logs a user in once, and returns its secret.
func (c *Client) LoginLink(ctx context.Context, _ domain.Actor, idOrName string) (string, error) {
	var out struct {
		Token string `json:"token"`
	}
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/users/" + url.PathEscape(idOrName) + "/login-link", into: &out})
	return out.Token, err
}

// Tokens lists API tokens, newest first.
func (c *Client) Tokens(ctx context.Context) ([]domain.Token, error) {
	items, err := all[apitypes.Token](ctx, c, "/tokens", nil, 0)
	return mapList(list[apitypes.Token]{Items: items}, apitypes.Token.Domain).Items, err
}

// CreateToken creates an API token and returns its text, which is not stored. A zero lifetime means
// 90 days.
func (c *Client) CreateToken(
	ctx context.Context,
	_ domain.Actor,
	name string,
	role domain.Role,
	scopes []string,
	lifetime time.Duration,
) (string, domain.Token, error) {
	body := struct {
		Name      string      `json:"name"`
		Role      domain.Role `json:"role"`
		Scopes    []string    `json:"scopes,omitempty"`
		ExpiresIn string      `json:"expiresIn,omitempty"`
	}{Name: name, Role: role, Scopes: scopes}
	if lifetime != 0 {
		body.ExpiresIn = lifetime.String()
	}
	var out apitypes.CreatedToken
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/tokens", body: body, into: &out})
	return out.Text, out.Token.Domain(), err
}

// RevokeToken revokes an API token.
func (c *Client) RevokeToken(ctx context.Context, _ domain.Actor, id, reason string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: "/tokens/" + url.PathEscape(id), query: url.Values{"reason": {reason}}})
	return err
}
