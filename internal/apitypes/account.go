package apitypes

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// User is a user.
type User struct {
	ID         string      `json:"id"`
	Name       string      `json:"name"`
	Role       domain.Role `json:"role"`
	Disabled   bool        `json:"disabled" doc:"The user cannot log in."`
	Issuer     string      `json:"issuer,omitempty" doc:"The identity provider that the user is linked to."`
	Subject    string      `json:"subject,omitempty" doc:"The user's id at the identity provider."`
	CreatedAt  time.Time   `json:"createdAt"`
	LastSeenAt time.Time   `json:"lastSeenAt,omitzero" doc:"The time of the user's latest request."`
}

// UserOf returns a user as the API sends it.
func UserOf(u domain.User) User {
	return User{ID: u.ID, Name: u.Name, Role: u.Role, Disabled: u.Disabled, Issuer: u.Issuer, Subject: u.Subject, CreatedAt: u.CreatedAt,
		LastSeenAt: u.LastSeenAt}
}

// Domain returns the user as the domain has it.
func (u User) Domain() domain.User {
	return domain.User{ID: u.ID, Name: u.Name, Role: u.Role, Disabled: u.Disabled, Issuer: u.Issuer, Subject: u.Subject,
		CreatedAt: u.CreatedAt, LastSeenAt: u.LastSeenAt}
}

// UserDetail is a user with the user's sessions, without secrets.
type UserDetail struct {
	User
	HasPassword  bool    `json:"hasPassword" doc:"The user can log in with a password."`
	SecondFactor bool    `json:"secondFactor" doc:"A login also requires a code."`
	Logins       []Login `json:"logins" doc:"The open logins."`
}

// Login is an active session.
type Login struct {
	CreatedAt  time.Time `json:"createdAt"`
	LastSeenAt time.Time `json:"lastSeenAt" doc:"The time of the latest request."`
	ExpiresAt  time.Time `json:"expiresAt"`
	Address    string    `json:"address" doc:"The address of the latest request."`
	Agent      string    `json:"agent" doc:"The name that the browser sends."`
}

// UserCreate creates a user.
type UserCreate struct {
	Name     string      `json:"name" minLength:"1" maxLength:"64" example:"marta"`
	Password string      `json:"password" maxLength:"1024" doc:"The password. It is stored as a hash."`
	Role     domain.Role `json:"role" enum:"viewer,operator,author,admin" example:"operator"`
}

// UserUpdate changes a user. Absent fields do not change.
type UserUpdate struct {
	Role     *domain.Role `json:"role,omitempty" enum:"viewer,operator,author,admin" example:"author"`
	Password *string      `json:"password,omitempty" maxLength:"1024" doc:"A new password."`
	Disabled *bool        `json:"disabled,omitempty" doc:"Whether the user cannot log in."`
}

// UserLink links a user to an identity provider.
type UserLink struct {
	Subject string `json:"subject" maxLength:"255" doc:"The user's permanent id at the provider; empty removes the link."`
}

// LoginLink is the secret of a login link.
type LoginLink struct {
	Token string `json:"token" doc:"For the page /login/link?token=…. It works once, for ten minutes."`
}

// Token is an API token, without its secret.
type Token struct {
	ID           string      `json:"id"`
	Name         string      `json:"name"`
	Prefix       string      `json:"prefix" doc:"The first characters of the token."`
	Role         domain.Role `json:"role"`
	Scopes       []string    `json:"scopes" doc:"The scopes; empty: everything that the role permits."`
	CreatedBy    string      `json:"createdBy" doc:"Principal that created the token."`
	CreatedAt    time.Time   `json:"createdAt"`
	ExpiresAt    time.Time   `json:"expiresAt"`
	LastUsedAt   time.Time   `json:"lastUsedAt,omitzero" doc:"The time of the latest request."`
	LastUsedFrom string      `json:"lastUsedFrom,omitempty" doc:"The address of the latest request."`
	RevokedAt    time.Time   `json:"revokedAt,omitzero" doc:"Time at which the token was revoked; absent: it is valid until it expires."`
}

// TokenOf returns a token as the API sends it.
func TokenOf(t domain.Token) Token {
	return Token{ID: t.ID, Name: t.Name, Prefix: t.Prefix, Role: t.Role, Scopes: append([]string{}, t.Scopes...), CreatedBy: t.CreatedBy,
		CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt, LastUsedAt: t.LastUsedAt, LastUsedFrom: t.LastUsedFrom, RevokedAt: t.RevokedAt}
}

// Domain returns the token as the domain has it.
func (t Token) Domain() domain.Token {
	return domain.Token{ID: t.ID, Name: t.Name, Prefix: t.Prefix, Role: t.Role, Scopes: t.Scopes, CreatedBy: t.CreatedBy,
		CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt, LastUsedAt: t.LastUsedAt, LastUsedFrom: t.LastUsedFrom, RevokedAt: t.RevokedAt}
}

// TokenCreate creates a token.
type TokenCreate struct {
	Name      string      `json:"name" minLength:"1" maxLength:"64" example:"ci"`
	Role      domain.Role `json:"role" enum:"viewer,operator,author,admin" example:"operator"`
	Scopes    []string    `json:"scopes,omitempty" maxItems:"64"`
	ExpiresIn string      `json:"expiresIn,omitempty" maxLength:"32" example:"720h"`
}

// CreatedToken is a new token with its text, which is shown only once.
type CreatedToken struct {
	Token
	Text string `json:"token" doc:"The token. It is not shown again."`
}

// Version is the version of the server.
type Version struct {
	Version string `json:"version" doc:"The release."`
	Commit  string `json:"commit,omitempty" doc:"The commit that it was built from."`
	Schema  int64  `json:"schema,omitempty" doc:"The version of the database schema."`
	SQLite  string `json:"sqlite,omitempty" doc:"The version of SQLite."`
	Go      string `json:"go,omitempty" doc:"The version of Go."`
}

// Me is the principal of a request.
type Me struct {
	Name   string      `json:"name" doc:"The user or the token."`
	Role   domain.Role `json:"role"`
	Source string      `json:"source" enum:"ui,api,cli,mcp" doc:"The interface."`
	Scopes []string    `json:"scopes" doc:"The scopes of the token; empty: everything that the role permits."`
	Routes []string    `json:"routes" doc:"The routes that you can use."`
}

// View is a saved filter of the list of runs.
type View struct {
	Name   string `json:"name" minLength:"1" maxLength:"160" example:"failed today"`
	Filter string `json:"filter" minLength:"1" maxLength:"4096" doc:"The filter." example:"status:failed since:24h"`
	Shared bool   `json:"shared,omitempty" doc:"Whether all users see the view."`
}
