package auth

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Store keeps users, sessions, tokens, and second factors. What is not there is
// CodeNotFound. What a change says to the audit log is recorded with it, or neither is.
// Names are matched exactly; this package folds them to lower case first.
type Store interface {
	// CreateUser stores a new user; a taken name is CodeConflict.
	CreateUser(ctx context.Context, u domain.User, said ...domain.AuditRecord) error
	// CreateFirstUser stores u only if there is no user at all, in one
	// transaction; else CodeConflict. Of many concurrent calls one succeeds.
	CreateFirstUser(ctx context.Context, u domain.User, said ...domain.AuditRecord) error
	// User finds a user by id or name, disabled ones included.
	User(ctx context.Context, idOrName string) (domain.User, error)
	// UserByIdentity finds whom an identity provider means, disabled ones included.
	UserByIdentity(ctx context.Context, issuer, subject string) (domain.User, error)
	// ChangeUser reads a user, lets edit change it, and writes it, in one transaction.
	// edit may be called more than once; others is how many other admins are enabled.
	ChangeUser(
		ctx context.Context,
		idOrName string,
		by domain.Actor,
		edit func(u *domain.User, others int) (domain.UserChange, error),
	) (domain.User, error)
	CountUsers(ctx context.Context) (int, error)

	CreateSession(ctx context.Context, s domain.Session, said ...domain.AuditRecord) error
	SessionByHash(ctx context.Context, hash string) (domain.Session, error)
	// Sessions lists the sessions of one user, newest first.
	Sessions(ctx context.Context, userID string) ([]domain.Session, error)
	// TouchSession sets SeenAt; it never moves it back.
	TouchSession(ctx context.Context, hash string, seen time.Time) error
	// DeleteSession removes one session; a missing one is no error.
	DeleteSession(ctx context.Context, hash string, said ...domain.AuditRecord) error
	// DeleteExpiredSessions removes sessions whose ExpiresAt is at or before
	// now or whose SeenAt is at or before idle.
	DeleteExpiredSessions(ctx context.Context, now, idle time.Time) error

	TokenByHash(ctx context.Context, hash string) (domain.Token, error)
	TokenByID(ctx context.Context, id string) (domain.Token, error)
	TouchToken(ctx context.Context, id string, used time.Time, from string) error

	// SecondFactor gives what is stored of a user's second factor; "": they have none.
	SecondFactor(ctx context.Context, userID string) (string, error)
	// ChangeSecondFactor lets edit replace that in one transaction. edit may be called
	// more than once.
	ChangeSecondFactor(ctx context.Context, userID string, edit func(value string) (string, error)) error
}

// Audit is where outcomes are recorded that change nothing: every refusal.
type Audit interface {
	Audit(ctx context.Context, r domain.AuditRecord) error
}
