package api

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
)

// Reader reads the audit log, which events are derived from.
type Reader interface {
	// EventsAfter returns at most limit records after a position, in order. A run restricts them to
	// that run.
	EventsAfter(ctx context.Context, after int64, run string, limit int) ([]domain.AuditEvent, error)
	// LastEvent returns the position of the newest record.
	LastEvent(ctx context.Context) (int64, error)
}

// Engine delivers events.
type Engine interface {
	// Subscribe delivers events until the context ends: the stored ones after a position, then live
	// ones, without a gap. A run restricts them to that run. A listener that does not keep up
	// receives a reset event, and its channel is closed.
	Subscribe(ctx context.Context, after int64, run string) (<-chan domain.Event, error)
	// Events returns the stored events after a position, in order, as Subscribe would replay them.
	// It reads at most limit rows of the audit log and returns the position up to which it has
	// read.
	Events(ctx context.Context, after int64, run string, limit int) (events []domain.Event, upto int64, err error)
	// Generation returns the generation of the database.
	Generation() string
}

// Principals finds the principal of a request.
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

// Audit records denied actions.
type Audit interface {
	Audit(ctx context.Context, r domain.AuditRecord) error
}
