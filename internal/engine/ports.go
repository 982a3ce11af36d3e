package engine

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// Store is what the engine needs of the database. Every method that writes
// returns once the write is durable.
type Store interface {
	// PutVersion stores a plan version; known content gives the existing one
	// and created false.
	PutVersion(ctx context.Context, v domain.NewVersion, actor domain.Actor) (domain.Plan, domain.Version, bool, error)
	// Plan finds a plan by id or key, archived ones included; CodeNotFound.
	Plan(ctx context.Context, idOrKey string) (domain.Plan, error)
	// VersionByHash and VersionByNumber give one version with its source.
	VersionByHash(ctx context.Context, hash string) (domain.Version, error)
	VersionByNumber(ctx context.Context, planID string, number int) (domain.Version, error)

	// CreateRun stores a run, its first journal rows and audit records: those that
	// name no run are about the new one. A run
	// with the same Key or ID that exists already is returned with created false.
	CreateRun(ctx context.Context, r domain.NewRun) (run domain.Run, created bool, err error)
	Run(ctx context.Context, id string) (domain.Run, error)
	// RunByKey finds the run that was created with an idempotency key; CodeNotFound.
	RunByKey(ctx context.Context, key string) (domain.Run, error)
	// Journal gives a run's rows with Seq > after, in order; hashes verified
	// (CodeCorrupt names the row, and the rows before it are given with it).
	Journal(ctx context.Context, run string, after int64) ([]domain.Entry, error)
	// Intact reads a journal however damaged it is: the rows that are as they were
	// written, and those that are not, or miss up to last, where it is known to end.
	Intact(ctx context.Context, run string, last int64) ([]domain.Entry, []domain.DamagedRow, error)
	// Unfinished lists runs that are not final, highest priority first, then
	// oldest; Journal is not loaded.
	Unfinished(ctx context.Context) ([]domain.Run, error)
	// LiveChildren lists the ids of a run's children that are not over.
	LiveChildren(ctx context.Context, run string) ([]string, error)
	// ActiveByConcurrency lists active runs with that concurrency key, oldest first.
	ActiveByConcurrency(ctx context.Context, key string) ([]domain.Run, error)

	// Commit stores a checkpoint and returns when it is durable.
	Commit(ctx context.Context, c domain.Checkpoint) error
	// Enqueue hands over checkpoints without waiting; done is called once for
	// each, in their order, from the store's writer, when it is durable or
	// rejected. Checkpoints of one run are committed in the order of their Enqueue
	// or Commit calls; after a rejected one all later ones of its Chain are
	// rejected too. The list may be changed after Enqueue returns.
	Enqueue(list []domain.Checkpoint, done func(error))

	Approval(ctx context.Context, id string) (domain.Approval, error)
	// Approvals lists those of a filter; the engine asks for those of one run.
	Approvals(ctx context.Context, f domain.ApprovalFilter) (domain.List[domain.Approval], error)
	// Audit adds a record that belongs to no checkpoint (a refused verb).
	Audit(ctx context.Context, r domain.AuditRecord) error

	// RestoreVersion makes an earlier version of a plan its current one ("plan.restore");
	// CodeStale when the current one is not Base.
	RestoreVersion(ctx context.Context, r domain.RestoredVersion, actor domain.Actor) (domain.Plan, error)
	// AcceptPlan takes a draft into use ("plan.accept").
	AcceptPlan(ctx context.Context, planID string, actor domain.Actor, reason string) (domain.Plan, error)
	// EventsAfter gives audit events with Seq > after in order, with their
	// journal rows, at most limit; run restricts to one run.
	EventsAfter(ctx context.Context, after int64, run string, limit int) ([]domain.AuditEvent, error)
	// LastEvent is the newest audit sequence number.
	LastEvent(ctx context.Context) (int64, error)
	// Generation names this life of the database (new after a restore).
	Generation() string
	// InstanceKey is the secret that idempotency keys are derived with; it
	// stays the same over restores.
	InstanceKey() []byte
	// Hold is why nothing is executed, nil when there is no such reason; a hold
	// begins only while the store is opened. EndHold ends it for new runs and
	// reports whether there was one; held runs stay held (G15).
	Hold(ctx context.Context) (*domain.Hold, error)
	EndHold(ctx context.Context, actor domain.Actor, reason string) (bool, error)
	// MayRelease reports whether an actor may let held runs continue now.
	MayRelease(ctx context.Context, actor domain.Actor) error
}

// Stepped is implemented by handlers that do everything with an effect through
// [Call.Substep]. Of such an attempt only the sub-step in flight can be in
// doubt, not the whole attempt.
type Stepped interface{ Stepped() bool }

// Handler runs nodes of one type.
type Handler interface {
	// Handle runs one attempt. A *walk.Failure in the error's chain has
	// details. The context ends at the node's timeout, at cancel and at
	// shutdown; context.Cause shows which.
	Handle(ctx context.Context, call *Call) (Result, error)
}

// HandlerFunc is a Handler as a function.
type HandlerFunc func(ctx context.Context, call *Call) (Result, error)

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, call *Call) (Result, error) { return f(ctx, call) }

// Call is one attempt of one visit or item.
type Call struct {
	RunID   string
	PlanKey string
	// Owner is who started the run; memory is theirs alone.
	Owner   string
	Session string // the run's id, unless one was named
	Node    *walk.ProgramNode
	Visit   int
	Item    int // -1: none
	Attempt int
	// Input is the resolved input, secrets included, made of nil, bool,
	// string, json.Number, []any and map[string]any. Handlers must not change it.
	Input any
	// Last is what the node sees as `last`.
	Last any
	// IdempotencyKey is the same in all attempts of this visit and item.
	IdempotencyKey string
	// Plan is what the run follows, and Request the run's input. Handlers of step
	// plans build their context message of both.
	Plan    *walk.Program
	Request any
	// Previous lists the completed steps that the node depends on, in the order of
	// the plan; only step plans have any.
	Previous func() []PreviousResult
	// Log adds a line to the attempt's log; level is debug, info, warn, error.
	Log func(level, message string)
	// Progress is sent live and kept as the attempt's last progress.
	Progress func(done, total int64, message string)
	// Stream sends a part of a model's text to live listeners; it is not stored.
	Stream func(text string)
	// Used reports that an agent or provider takes part, so that the run is found by
	// it; what a handler does through Substep is noted automatically. May be nil.
	Used func(kind, name string)
	// Approve asks a person whether sub-step n may make a call, once for these
	// exact arguments. nil: it may. A *walk.Failure: it may not, which is the
	// call's failure. [ErrAsked] in the chain: no one has answered yet; the
	// handler must end with that error, and is called again after the answer.
	Approve func(n int, q Question) error
	// Substep runs fn at most once per (visit, item, n) across crashes: a
	// recorded response is returned without calling fn. [ErrBudget] in the chain:
	// fn was not called, or its answer is of no use, because of a limit of the run;
	// the handler must end with that error.
	Substep func(n int, kind string, digest string, effect walk.Effect, fn func() (any, domain.Usage, error)) (any, error)
	// Asking keeps the prompt of sub-step n, for people: beside its response, or
	// before a call that is not idempotent. It must come before the sub-step. May
	// be nil.
	Asking func(n int, prompt any)
	// Needs states what the model call of sub-step n may use; it must come before the
	// sub-step. May be nil.
	Needs func(n int, need Need)
	// Pass records, as sub-step n, that an agent passes work on to another, or
	// that it may not: once across crashes.
	Pass func(n int, p Passing) error
	// Answered records, as sub-step n, what the other made of what was passed on
	// at sub-step request: its output, or its failure.
	Answered func(n, request int, p Passing, out any, err error) error
}

// PreviousResult is a completed step, for context messages. Number is its number in
// the plan, from 1.
type PreviousResult struct {
	Number            int
	Node, Task, Agent string
	Output            any
}

// Result is what a handler returns when it succeeds.
type Result struct {
	Output any // any Go value that JSON can hold
	// Usage is what models consumed, without what sub-steps have recorded.
	Usage domain.Usage
	Agent string // who did it, for handoffs
}

// Registry resolves nodes to handlers and returns what a node's run may do.
type Registry interface {
	// Handler finds the handler of a node, by node id first, then by type.
	Handler(node *walk.ProgramNode) (Handler, bool)
	// Effect is the effect of running the node with this resolved input.
	Effect(node *walk.ProgramNode, input any) walk.Effect
	// Catalog is what plans are validated against.
	Catalog() *planner.Catalog
}

// AgentNames is implemented by registries that know how agents are shown.
type AgentNames interface {
	AgentIdentity(id string) (name, icon, color string)
}

// Rememberer is implemented by registries that know what earlier runs of a session
// said.
type Rememberer interface {
	// Remembered is what is worth knowing of a session, for a text; "": nothing.
	Remembered(ctx context.Context, owner, session, text string) (string, error)
}

// Secrets resolves ${secret.NAME}, only for the tools and hosts the secret
// names.
type Secrets interface {
	// Secret gives a secret to a call of a tool; input is the call's, with its
	// secrets unresolved.
	Secret(name, tool string, input any) (string, bool)
	// Mask replaces every secret value in text by dots.
	Mask(text []byte) []byte
}
