// Package web is the operators' dashboard and, below internal/api, the JSON API.
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

// Reader is what sections read, and pages without a folder of their own. The store
// implements it; every list is by key.
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
	// ActiveByConcurrency are the active runs with a concurrency key, oldest first.
	ActiveByConcurrency(ctx context.Context, key string) ([]domain.Run, error)
	// Kept are the digests that the audit log keeps of a run that retention took the
	// journal of.
	Kept(ctx context.Context, run string) (domain.RetainedDigests, error)
	Handoffs(ctx context.Context, run string) ([]domain.Handoff, error)
	// Handoff is one of them; CodeNotFound.
	Handoff(ctx context.Context, id string) (domain.HandoffSummary, error)
	// HandoffsLike are a few whose ids begin as an id does.
	HandoffsLike(ctx context.Context, id string, limit int) ([]domain.HandoffSummary, error)
	// Conversation is what a run's agents said to each other, in order.
	Conversation(ctx context.Context, run string) (domain.Conversation, error)
	// Children, forks and reruns of a run, and what it came from.
	Lineage(ctx context.Context, run string) ([]domain.Run, error)
	VersionByHash(ctx context.Context, hash string) (domain.Version, error)
}

// Engine is what pages and the API do.
type Engine interface {
	Preview(ctx context.Context, actor domain.Actor, r domain.ActionRequest) (domain.Preview, error)
	approval.Predictions
	// Detail folds a run: its waits, where it stands. Look is Detail together with what
	// resuming would do; a nil resume: ask Preview.
	Detail(ctx context.Context, run string) (domain.RunDetail, error)
	Look(ctx context.Context, actor domain.Actor, run string) (d domain.RunDetail, resume func() (domain.Preview, error), err error)
	// Program compiles a stored version (cached).
	Program(ctx context.Context, hash string) (*walk.Program, error)
	// Effects is what running each node of a stored version may do, in their order, as
	// far as that is known before it has its input.
	Effects(ctx context.Context, hash string) ([]walk.Effect, error)
	// CheckPlan validates without storing.
	CheckPlan(src []byte, f planner.Format) (*planner.Document, planner.Problems)
	// Catalog is what this installation offers to plans.
	Catalog() *planner.Catalog
	// Subscribe delivers events until the context ends. A listener that does
	// not keep up gets its channel closed after a "reset" event.
	Subscribe(ctx context.Context, after int64, run string) (<-chan domain.Event, error)
	// Published is how many events were published so far; see domain.Event.
	Published() int64
}

// Auth is who may come in.
type Auth interface {
	account.Auth
	account.Proofs
	// Session finds the user of a session secret; CodeUnauthorized.
	Session(ctx context.Context, secret string) (domain.User, error)
	// Token finds the principal of an API token; CodeUnauthorized.
	Token(ctx context.Context, token string) (domain.Actor, error)
}

// Audit is where acts are recorded that never reached what they were about.
type Audit interface {
	Audit(ctx context.Context, r domain.AuditRecord) error
}
