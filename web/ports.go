// Package web is the dashboard. It also serves the JSON API of internal/api.
package web

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/account"
	"github.com/kairosd/kairosd/web/approvals"
	"github.com/kairosd/kairosd/web/audit"
	"github.com/kairosd/kairosd/web/drafts"
	"github.com/kairosd/kairosd/web/find"
	"github.com/kairosd/kairosd/web/handoffs"
	"github.com/kairosd/kairosd/web/home"
	"github.com/kairosd/kairosd/web/part/approval"
	"github.com/kairosd/kairosd/web/plans"
	"github.com/kairosd/kairosd/web/runs"
	"github.com/kairosd/kairosd/web/start"
	"github.com/kairosd/kairosd/web/ui"
)

// Reader reads what pages show. The store implements it, with an index for every list.
type Reader interface {
	ui.Reader
	approvals.Reader
	audit.Reader
	drafts.Reader
	handoffs.Reader
	find.Reader
	home.Reader
	plans.Reader
	runs.Reader
	start.Reader
	// ActiveByConcurrency returns the active runs with a concurrency key, oldest first.
	ActiveByConcurrency(ctx context.Context, key string) ([]domain.Run, error)
	// Kept returns the digests in the audit log of a run whose journal retention has deleted.
	Kept(ctx context.Context, run string) (domain.RetainedDigests, error)
	Handoffs(ctx context.Context, run string) ([]domain.Handoff, error)
	// Handoff returns one handoff, or an error with CodeNotFound.
	Handoff(ctx context.Context, id string) (domain.HandoffSummary, error)
	// HandoffsLike returns up to limit handoffs whose IDs begin with id.
	HandoffsLike(ctx context.Context, id string, limit int) ([]domain.HandoffSummary, error)
	// Conversation returns the messages between the agents of a run, in order.
	Conversation(ctx context.Context, run string) (domain.Conversation, error)
	// Lineage returns the children, forks, and reruns of a run, and the runs that it came from.
	Lineage(ctx context.Context, run string) ([]domain.Run, error)
	// Relatives returns the ids of these runs.
	Relatives(ctx context.Context, run domain.Run) ([]string, error)
	VersionByHash(ctx context.Context, hash string) (domain.Version, error)
}

// Engine executes the operations of pages and the API.
type Engine interface {
	Preview(ctx context.Context, actor domain.Actor, r domain.ActionRequest) (domain.Preview, error)
	approval.Predictions
	// Detail returns the current state of a run, computed from its journal. Look returns the same
	// together with the effect of resuming the run. If resume is nil, call Preview instead.
	Detail(ctx context.Context, run string) (domain.RunDetail, error)
	Look(ctx context.Context, actor domain.Actor, run string) (d domain.RunDetail, resume func() (domain.Preview, error), err error)
	// Program compiles a stored version. Results are cached.
	Program(ctx context.Context, ref domain.ProgramRef) (*walk.Program, error)
	// Effects returns the possible side effects of each node of a stored version, in the order of
	// the nodes, as far as they are known without input.
	Effects(ctx context.Context, ref domain.ProgramRef) ([]walk.Effect, error)
	// CheckPlan validates a plan without storing it.
	CheckPlan(src []byte, f planner.Format) (*planner.Document, planner.Problems)
	// Catalog returns the tools, agents, and providers that plans can use.
	Catalog() *planner.Catalog
	// Subscribe delivers events until the context ends. It sends a "reset" event to a listener that
	// falls behind, and closes its channel.
	Subscribe(ctx context.Context, after int64, run string) (<-chan domain.Event, error)
	// Published returns the number of events published so far; see domain.Event.
	Published() int64
}

// Auth authenticates users and tokens.
type Auth interface {
	account.Auth
	account.Proofs
	// Session returns the user of a session secret, or an error with CodeUnauthorized.
	Session(ctx context.Context, secret string) (domain.User, error)
	// Token returns the actor of an API token, or an error with CodeUnauthorized.
	Token(ctx context.Context, token string) (domain.Actor, error)
}

// Audit records actions that were denied before they reached their object.
type Audit interface {
	Audit(ctx context.Context, r domain.AuditRecord) error
}
