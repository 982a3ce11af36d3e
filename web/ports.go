// Package web is the operators' dashboard and, below internal/api, the JSON API.
package web

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/account"
	"github.com/kairosd/kairosd/web/approvals"
	"github.com/kairosd/kairosd/web/audit"
	"github.com/kairosd/kairosd/web/find"
	"github.com/kairosd/kairosd/web/handoffs"
	"github.com/kairosd/kairosd/web/home"
	"github.com/kairosd/kairosd/web/part/approval"
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
	handoffs.Reader
	find.Reader
	home.Reader
	runs.Reader
	start.Reader
	// ActiveByConcurrency are the active runs with a concurrency key, oldest first.
	ActiveByConcurrency(ctx context.Context, key string) ([]domain.Run, error)
	// Kept are the digests that the audit log keeps of a run that retention took the
	// journal of.
	Kept(ctx context.Context, run string) (domain.KeptDigests, error)
	Handoffs(ctx context.Context, run string) ([]domain.Handoff, error)
	// Handoff is one of them; CodeNotFound.
	Handoff(ctx context.Context, id string) (domain.HandoffSeen, error)
	// HandoffsLike are a few whose ids begin as an id does.
	HandoffsLike(ctx context.Context, id string, limit int) ([]domain.HandoffSeen, error)
	// Conversation is what a run's agents said to each other, in order.
	Conversation(ctx context.Context, run string) (domain.Conversation, error)
	// Children, forks and reruns of a run, and what it came from.
	Lineage(ctx context.Context, run string) ([]domain.Run, error)
	// LastRuns are the newest runs of a plan, with id, state and times only.
	LastRuns(ctx context.Context, plan string, limit int) ([]domain.Run, error)
	// NextStart is the run of a plan that is the next to start at a time set for it,
	// and when; "": none is, or too many are queued.
	NextStart(ctx context.Context, plan string) (run string, at time.Time, err error)
	// PlanFlow is how the newest runs of a plan that began since a time went through
	// its nodes; version 0 is any. It looks at a bounded number of runs.
	PlanFlow(ctx context.Context, plan string, version int, since time.Time) (domain.PlanFlow, error)
	// VersionRuns says per version number how many runs ended since a time, how, and
	// how many are under way.
	VersionRuns(ctx context.Context, planID string, since time.Time) (map[int]domain.VersionRuns, error)
	// PlanFacts are what a plan is found by.
	PlanFacts(ctx context.Context, plan string) ([]domain.PlanFact, error)
	// PlansThatRun are the keys of plans that run another plan.
	PlansThatRun(ctx context.Context, plan string, limit int) ([]string, error)
	VersionByHash(ctx context.Context, hash string) (domain.Version, error)
	// PlanOutcomes counts how runs of a plan ended since a time.
	PlanOutcomes(ctx context.Context, plan string, since time.Time) (map[domain.RunStatus]int64, error)
}

// Drafts makes plans of intents in the background; nothing of them runs before
// somebody accepts it.
type Drafts interface {
	// Start stores a draft and returns; planning goes on, also after a restart.
	Start(ctx context.Context, actor domain.Actor, r domain.DraftRequest) (domain.Draft, error)
	// Refine makes another draft of the same intent, with what should be different
	// or by another provider; CodeConflict while the one is being planned.
	Refine(ctx context.Context, actor domain.Actor, id string, r domain.DraftRequest) (domain.Draft, error)
	// Accept takes the plan of a draft, or an alternative of it, into use.
	Accept(ctx context.Context, actor domain.Actor, id string, a domain.DraftAcceptance) (domain.Draft, error)
	Discard(ctx context.Context, actor domain.Actor, id, reason string) (domain.Draft, error)
	Draft(ctx context.Context, id string) (domain.Draft, error)
	// DraftOfVersion is the newest draft whose plan is a version; CodeNotFound.
	DraftOfVersion(ctx context.Context, hash string) (domain.Draft, error)
	Drafts(ctx context.Context, all bool, limit int) ([]domain.Draft, error)
	// DraftsFrom are those that refine a draft, oldest first.
	DraftsFrom(ctx context.Context, parent string) ([]domain.Draft, error)
	// Planners are the providers whose models can plan.
	Planners() []string
}

// Engine is what pages and the API do.
type Engine interface {
	Preview(ctx context.Context, actor domain.Actor, r domain.VerbRequest) (domain.Preview, error)
	approval.Forecasts
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
	// TryPlan starts a dry run of a document without saving it.
	TryPlan(ctx context.Context, actor domain.Actor, src []byte, f planner.Format, input domain.RawJSON) (domain.Run, planner.Problems, error)
	// Catalog is what this installation offers to plans.
	Catalog() *planner.Catalog
	// Subscribe delivers events until the context ends. A listener that does
	// not keep up gets its channel closed after a "reset" event.
	Subscribe(ctx context.Context, after int64, run string) (<-chan domain.Event, error)
	// Heard is how many events were published so far; see domain.Event.
	Heard() int64
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
