package api

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Reader is what the API reads of the store; see web.Reader for the promises.
type Reader interface {
	AuditEvents(ctx context.Context, f domain.AuditFilter) (domain.List[domain.AuditEvent], error)
	EventsAfter(ctx context.Context, after int64, run string, limit int) ([]domain.AuditEvent, error)
	LastEvent(ctx context.Context) (int64, error)
}

// Engine is what the API does; see web.Engine for the promises.
type Engine interface {
	Subscribe(ctx context.Context, after int64, run string) (<-chan domain.Event, error)
	// Events gives the stored events after a position, in order: what Subscribe
	// would replay. It reads at most limit rows of the audit log and returns the
	// position up to which it has read.
	Events(ctx context.Context, after int64, run string, limit int) (events []domain.Event, upto int64, err error)
	Incarnation() string
}

// Principals finds who sends a request.
type Principals interface {
	// Token finds the principal of an API token; CodeUnauthorized.
	Token(ctx context.Context, token string) (domain.Actor, error)
	// Session finds the user of a browser's session secret; CodeUnauthorized.
	Session(ctx context.Context, secret string) (domain.User, error)
	// Fresh reports whether the person behind a session proved lately who they are.
	Fresh(ctx context.Context, secret string) (bool, error)
	// MustEnrol reports whether somebody must set up a second factor before anything
	// else.
	MustEnrol(ctx context.Context, u domain.User) (bool, error)
}

// Audit is where acts are recorded that were denied.
type Audit interface {
	Audit(ctx context.Context, r domain.AuditRecord) error
}

// IdempotencyStore keeps the answers of requests that carry an Idempotency-Key,
// by principal, route and key.
type IdempotencyStore interface {
	// ReserveResponse claims r's principal, route and key for one request. If they
	// are claimed already, the stored record is returned with claimed false: with
	// Status 0 while the first request is still being answered. A claim without an
	// answer that an earlier process left behind, or that is older than staleAfter,
	// can be had: the same body claims it again and is returned with its first
	// CreatedAt, another body replaces it.
	ReserveResponse(ctx context.Context, r domain.StoredResponse, staleAfter time.Duration) (stored domain.StoredResponse, claimed bool, err error)
	// CompleteResponse stores the answer of a claimed request.
	CompleteResponse(ctx context.Context, r domain.StoredResponse) error
	// ReleaseResponse gives a claim up, so that the request may be tried again.
	ReleaseResponse(ctx context.Context, principal, route, key string) error
	// DeleteResponses removes records created before a time.
	DeleteResponses(ctx context.Context, before time.Time) error
}
