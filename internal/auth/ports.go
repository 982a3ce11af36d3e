package auth

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
)

// Store keeps users, sessions and tokens. What is not there is CodeNotFound. What
// a change says to the audit log is recorded with it, or neither is (G12).
// Names are matched exactly; this package folds them to lower case first.
type Store interface {
	// CreateUser stores a new user; a taken name is CodeConflict.
	CreateUser(ctx context.Context, u kairos.User, said ...kairos.AuditRecord) error
	// CreateFirstUser stores u only if there is no user at all, in one
	// transaction; else CodeConflict. Of many concurrent calls one succeeds.
	CreateFirstUser(ctx context.Context, u kairos.User, said ...kairos.AuditRecord) error
	// User finds a user by id or name, disabled ones included.
	User(ctx context.Context, idOrName string) (kairos.User, error)
	// UserByIdentity finds whom an identity provider means, disabled ones included.
	UserByIdentity(ctx context.Context, issuer, subject string) (kairos.User, error)
	// Users lists all users by name.
	Users(ctx context.Context) ([]kairos.User, error)
	// UpdateUser replaces everything but ID, Name and CreatedAt; an identity that
	// another user has is CodeConflict.
	UpdateUser(ctx context.Context, u kairos.User, said ...kairos.AuditRecord) error
	// UpdateUserEndingSessions is UpdateUser with DeleteSessions, together.
	UpdateUserEndingSessions(ctx context.Context, u kairos.User, keep string, said ...kairos.AuditRecord) error
	CountUsers(ctx context.Context) (int, error)

	CreateSession(ctx context.Context, s kairos.Session, said ...kairos.AuditRecord) error
	SessionByHash(ctx context.Context, hash string) (kairos.Session, error)
	// Sessions lists the sessions of one user, newest first.
	Sessions(ctx context.Context, userID string) ([]kairos.Session, error)
	// TouchSession sets SeenAt; it never moves it back.
	TouchSession(ctx context.Context, hash string, seen time.Time) error
	// DeleteSession removes one session; a missing one is no error.
	DeleteSession(ctx context.Context, hash string, said ...kairos.AuditRecord) error
	// DeleteSessions removes all sessions of a user but the one with the hash
	// keep (empty: none is kept).
	DeleteSessions(ctx context.Context, userID, keep string, said ...kairos.AuditRecord) error
	// DeleteExpiredSessions removes sessions whose ExpiresAt is at or before
	// now or whose SeenAt is at or before idle.
	DeleteExpiredSessions(ctx context.Context, now, idle time.Time) error

	CreateToken(ctx context.Context, t kairos.Token, said ...kairos.AuditRecord) error
	TokenByHash(ctx context.Context, hash string) (kairos.Token, error)
	// Tokens lists all tokens, newest first, revoked ones included.
	Tokens(ctx context.Context) ([]kairos.Token, error)
	// RevokeToken sets RevokedAt, once: a revoked token keeps its time.
	RevokeToken(ctx context.Context, id string, at time.Time, said ...kairos.AuditRecord) error
	TouchToken(ctx context.Context, id string, used time.Time, from string) error
}

// Audit is where outcomes are recorded that change nothing: every refusal.
type Audit interface {
	Audit(ctx context.Context, r kairos.AuditRecord) error
}
