package domain

import "time"

// User is a person who may log in.
type User struct {
	ID           string
	Name         string
	Role         Role
	PasswordHash string // PHC string; empty: no password opens the account
	// Issuer and Subject are who an identity provider reports that this is; both
	// empty: it has none.
	Issuer, Subject string
	Disabled        bool
	// Unsealed reports that another program added or changed the user, who is
	// then disabled.
	Unsealed   bool
	CreatedAt  time.Time
	LastSeenAt time.Time
	// Settings are the person's preferences (language, zone, theme, density).
	Settings RawJSON
}

// UserChange states what the audit log records of a change of a user, and what ends with it.
type UserChange struct {
	Reason       string // of the record; empty: there is none
	Detail       RawJSON
	EndsSessions bool
	Keep         string // the hash of the one session that stays; empty: none
}

// Session is a logged-in browser. Only the hash of its id is stored.
type Session struct {
	IDHash    string // hex SHA-256
	UserID    string
	CreatedAt time.Time
	SeenAt    time.Time
	ExpiresAt time.Time // absolute
	Address   string
	Agent     string
}

// Token is an API token. Only the hash of its secret is stored.
type Token struct {
	ID         string
	Name       string
	Prefix     string // first characters, for recognition
	SecretHash string // hex SHA-256
	Role       Role
	Scopes     []string // empty: all that the role allows
	CreatedBy  string
	CreatedAt  time.Time
	ExpiresAt  time.Time
	LastUsedAt time.Time
	// LastUsedFrom is the address that it was last used from; "": never.
	LastUsedFrom string
	RevokedAt    time.Time
	// Unsealed reports that another program added or changed the token, which
	// then proves nothing.
	Unsealed bool
}

// Scopes lists what a token can be narrowed to.
var Scopes = []string{"runs:read", "runs:write", "plans:read", "plans:write", "approvals", "tokens", "metrics", "admin"}
