package domain

import (
	"slices"
	"strings"
	"time"
)

// User is a person who can log in.
type User struct {
	ID           string
	Name         string
	Role         Role
	PasswordHash string // PHC string; empty means no login with a password
	// Issuer and Subject identify the user at an identity provider. Both are empty if there is
	// none.
	Issuer, Subject string
	Disabled        bool
	// Unsealed reports that another program added or changed the user. Such a user is disabled.
	Unsealed   bool
	CreatedAt  time.Time
	LastSeenAt time.Time
	// Settings are the preferences of the person (language, time zone, theme, density).
	Settings RawJSON
}

// UserChange describes the audit record of a change of a user, and the sessions that it ends.
type UserChange struct {
	Reason       string // of the audit record; empty means no record
	Detail       RawJSON
	EndsSessions bool
	Keep         string // hash of the session that stays, or empty
}

// Session is a login in a browser. Only the hash of its ID is stored.
type Session struct {
	IDHash    string // hex SHA-256
	UserID    string
	CreatedAt time.Time
	SeenAt    time.Time
	ExpiresAt time.Time // absolute limit
	Address   string
	Agent     string
}

// Token is an API token. Only the hash of its secret is stored.
type Token struct {
	ID         string
	Name       string
	Prefix     string // first characters of the secret, for recognition
	SecretHash string // hex SHA-256
	Role       Role
	Scopes     []string // empty means all that the role permits
	CreatedBy  string
	CreatedAt  time.Time
	ExpiresAt  time.Time
	LastUsedAt time.Time
	// LastUsedFrom is the address of the last use, or empty.
	LastUsedFrom string
	RevokedAt    time.Time
	// Unsealed reports that another program added or changed the token. Such a token is invalid.
	Unsealed bool
}

// ScopeMCP and ScopeA2A permit calls of all plans that are tools of the protocol. "mcp:" or "a2a:" and the
// key of a plan permit calls of one.
const (
	ScopeMCP = SourceMCP
	ScopeA2A = SourceA2A
)

// Scopes lists the valid scopes of a token, except those for one plan.
var Scopes = []string{"runs:read", "runs:write", "plans:read", "plans:write", "approvals", "tokens", "metrics", "admin",
	ScopeMCP, ScopeA2A}

// PlanScope returns the scope that permits calls of one plan as a tool of a protocol.
func PlanScope(protocol, plan string) string { return protocol + ":" + plan }

// ValidScope reports whether a token can have a scope.
func ValidScope(scope string) bool {
	protocol, plan, one := strings.Cut(scope, ":")
	return slices.Contains(Scopes, scope) || one && IsProtocol(protocol) && plan != "" && len(plan) <= 128 &&
		!strings.ContainsAny(plan, " \t\r\n\x00")
}

// ScopesInclude reports whether scopes contain a scope, or one that includes it.
func ScopesInclude(scopes []string, scope string) bool {
	protocol, _, one := strings.Cut(scope, ":")
	return slices.Contains(scopes, scope) || one && IsProtocol(protocol) && slices.Contains(scopes, protocol)
}
