package api

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// Reader is what the API reads of the store; see web.Reader for the promises.
type Reader interface {
	AuditEvents(ctx context.Context, f domain.AuditFilter) (domain.List[domain.AuditEvent], error)
	EventsAfter(ctx context.Context, after int64, run string, limit int) ([]domain.AuditEvent, error)
	LastEvent(ctx context.Context) (int64, error)
}

// Engine is what the API does; see web.Engine for the promises.
type Engine interface {
	TryPlan(ctx context.Context, actor domain.Actor, src []byte, f planner.Format, input domain.RawJSON) (domain.Run, planner.Problems, error)
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

// Accounts manages users and tokens. The actor is recorded with every change.
type Accounts interface {
	Users(ctx context.Context) ([]domain.User, error)
	User(ctx context.Context, idOrName string) (domain.User, error)
	// Sessions are a user's open logins; SecondFactor says whether one asks for a code.
	Sessions(ctx context.Context, userID string) ([]domain.Session, error)
	SecondFactor(ctx context.Context, userID string) (on bool, recoveryCodes int, err error)
	CreateUser(ctx context.Context, actor domain.Actor, name, password string, role domain.Role) (domain.User, error)
	// UpdateUser changes what is not nil; it ends the user's sessions when role,
	// password or access changes.
	UpdateUser(ctx context.Context, actor domain.Actor, idOrName string, role *domain.Role, password *string, disabled *bool) (domain.User, error)
	// LinkUser says by which subject the identity provider knows a user; "" ends
	// the link. It ends the user's sessions.
	LinkUser(ctx context.Context, actor domain.Actor, idOrName, subject string) (domain.User, error)
	// LoginLink makes the secret of a link that logs a user in once; only for
	// somebody at the machine itself.
	LoginLink(ctx context.Context, actor domain.Actor, idOrName string) (secret string, err error)
	// EndSessions ends all open logins of a user but the one with the secret keep
	// (empty: none is kept); DisableSecondFactor takes a second factor away,
	// CodeConflict if there is none.
	EndSessions(ctx context.Context, actor domain.Actor, idOrName, keep string) error
	DisableSecondFactor(ctx context.Context, actor domain.Actor, idOrName string) error
	Tokens(ctx context.Context) ([]domain.Token, error)
	// CreateToken returns the token's text, which is shown only here. A zero
	// lifetime means the default of 90 days.
	CreateToken(ctx context.Context, actor domain.Actor, name string, role domain.Role, scopes []string, lifetime time.Duration) (text string, t domain.Token, err error)
	RevokeToken(ctx context.Context, actor domain.Actor, id, reason string) error
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
