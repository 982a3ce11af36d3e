package api

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
)

// Reader is what the API reads of the store; see web.Reader for the promises.
type Reader interface {
	EventsAfter(ctx context.Context, after int64, run string, limit int) ([]domain.AuditEvent, error)
	LastEvent(ctx context.Context) (int64, error)
}

// Engine is the part of the engine that the API uses. web.Engine documents the methods.
type Engine interface {
	Subscribe(ctx context.Context, after int64, run string) (<-chan domain.Event, error)
	// Events returns the stored events after a position, in order, as Subscribe would replay them.
	// It reads at most limit rows of the audit log and returns the position up to which it has
	// read.
	Events(ctx context.Context, after int64, run string, limit int) (events []domain.Event, upto int64, err error)
	Generation() string
}

// Principals finds who sends a request.
type Principals interface {
	// Token finds the principal of an API token; CodeUnauthorized.
	Token(ctx context.Context, token string) (domain.Actor, error)
	// Session finds the user of a browser's session secret; CodeUnauthorized.
	Session(ctx context.Context, secret string) (domain.User, error)
	// Fresh reports whether the person in a session proved their identity recently.
	Fresh(ctx context.Context, secret string) (bool, error)
	// MustEnrol reports whether a user must set up a second factor before anything else.
	MustEnrol(ctx context.Context, u domain.User) (bool, error)
}

// Audit is where acts are recorded that were denied.
type Audit interface {
	Audit(ctx context.Context, r domain.AuditRecord) error
}
