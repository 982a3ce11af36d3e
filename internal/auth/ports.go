package auth

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Store keeps users, sessions, tokens, and second factors. A missing entry is CodeNotFound. A
// change and its audit records commit together or not at all. Names are matched exactly; this
// package converts them to lowercase first.
type Store interface {
	// CreateUser stores a new user; a taken name is CodeConflict.
	CreateUser(ctx context.Context, u domain.User, records ...domain.AuditRecord) error
	// CreateFirstUser stores u in one transaction if there is no user, and returns CodeConflict
	// otherwise. Of concurrent calls, one succeeds.
	CreateFirstUser(ctx context.Context, u domain.User, records ...domain.AuditRecord) error
	// User finds a user by ID or name. It finds disabled users too.
	User(ctx context.Context, idOrName string) (domain.User, error)
	// UserByIdentity finds the user of an identity. It finds disabled users too.
	UserByIdentity(ctx context.Context, issuer, subject string) (domain.User, error)
	// ChangeUser reads a user, changes it with edit, and writes it, in one transaction. edit may be
	// called more than once. others is the number of other enabled administrators.
	ChangeUser(
		ctx context.Context,
		idOrName string,
		by domain.Actor,
		edit func(u *domain.User, others int) (domain.UserChange, error),
	) (domain.User, error)
	CountUsers(ctx context.Context) (int, error)

	CreateSession(ctx context.Context, s domain.Session, records ...domain.AuditRecord) error
	SessionByHash(ctx context.Context, hash string) (domain.Session, error)
	// Sessions lists the sessions of one user, newest first.
	Sessions(ctx context.Context, userID string) ([]domain.Session, error)
	// TouchSession sets SeenAt. It never moves SeenAt back.
	TouchSession(ctx context.Context, hash string, seen time.Time) error
	// DeleteSession removes one session. A missing session is not an error.
	DeleteSession(ctx context.Context, hash string, records ...domain.AuditRecord) error
	// DeleteExpiredSessions removes sessions whose ExpiresAt is at or before
	// now or whose SeenAt is at or before idle.
	DeleteExpiredSessions(ctx context.Context, now, idle time.Time) error

	TokenByHash(ctx context.Context, hash string) (domain.Token, error)
	TokenByID(ctx context.Context, id string) (domain.Token, error)
	TouchToken(ctx context.Context, id string, used time.Time, from string) error

	// SecondFactor returns the stored second factor of a user, or "" if they have none.
	SecondFactor(ctx context.Context, userID string) (string, error)
	// ChangeSecondFactor replaces the second factor with edit, in one transaction. edit may be
	// called more than once.
	ChangeSecondFactor(ctx context.Context, userID string, edit func(value string) (string, error)) error
}

// Audit records outcomes that change nothing, such as every refusal.
type Audit interface {
	Audit(ctx context.Context, r domain.AuditRecord) error
}
