package engine

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// Store is the part of the database that the engine uses. Every method that writes returns when the
// write is durable.
type Store interface {
	// PutVersion stores a plan version. If the content exists already, it returns the existing
	// version and created false.
	PutVersion(ctx context.Context, v domain.NewVersion, actor domain.Actor) (domain.Plan, domain.Version, bool, error)
	// Plan returns a plan by ID or key, including archived ones. The error has CodeNotFound.
	Plan(ctx context.Context, idOrKey string) (domain.Plan, error)
	// VersionByHash and VersionByNumber return a version with its source.
	VersionByHash(ctx context.Context, hash string) (domain.Version, error)
	VersionByNumber(ctx context.Context, planID string, number int) (domain.Version, error)

	// CreateRun stores a run with its first journal rows and audit records. A record that names no
	// run is about the new one. If a run with the same Key or ID exists, it returns that run and
	// created false.
	CreateRun(ctx context.Context, r domain.NewRun) (run domain.Run, created bool, err error)
	Run(ctx context.Context, id string) (domain.Run, error)
	// RunByKey returns the run that was created with an idempotency key. The error has
	// CodeNotFound.
	RunByKey(ctx context.Context, key string) (domain.Run, error)
	// Journal returns the rows of a run with Seq > after, in order, after verifying their hashes.
	// If a row is damaged, the error has CodeCorrupt, and the rows before it are returned.
	Journal(ctx context.Context, run string, after int64) ([]domain.Entry, error)
	// Intact reads a damaged journal. It returns the intact rows, and the rows that are damaged or
	// missing up to last, the known end of the journal.
	Intact(ctx context.Context, run string, last int64) ([]domain.Entry, []domain.DamagedRow, error)
	// Unfinished returns the runs that are not final, highest priority first, then oldest first.
	Unfinished(ctx context.Context) ([]domain.Run, error)
	// LiveChildren returns the IDs of a run's unfinished child runs.
	LiveChildren(ctx context.Context, run string) ([]string, error)
	// ActiveByConcurrency returns the active runs with a concurrency key, oldest first.
	ActiveByConcurrency(ctx context.Context, key string) ([]domain.Run, error)
	// UndoRuns returns the runs that undo steps of a run, oldest first.
	UndoRuns(ctx context.Context, run string) ([]domain.Run, error)

	// Commit stores a checkpoint and returns when it is durable.
	Commit(ctx context.Context, c domain.Checkpoint) error
	// Enqueue passes checkpoints to the store without waiting. The store's writer calls done once
	// for each, in order, when it is durable or rejected. Checkpoints of one run are committed in
	// the order of the Enqueue and Commit calls. After a rejected one, all later ones of its Chain
	// are rejected too. The caller may change the list after Enqueue returns.
	Enqueue(list []domain.Checkpoint, done func(error))

	// Signal finds a signal.
	Signal(ctx context.Context, id string) (domain.Signal, error)
	// Matchable lists the oldest signals with a name and a key that may end a wait, without their data,
	// and the oldest waits for them. MatchableNames lists the names and keys that have both.
	Matchable(ctx context.Context, name, key string, limit int) ([]domain.Signal, []domain.SignalWait, error)
	MatchableNames(ctx context.Context) ([]domain.Signal, error)
	// Delivered reports whether a signal for all has ended a wait of the same step before.
	Delivered(ctx context.Context, signal string, w domain.SignalWait) (bool, error)
	// MatchWait stores which signal is on its way to a wait of a run that a Remote executes. The error has CodeConflict if
	// the wait has ended, or another signal is on its way. Matched lists these waits.
	MatchWait(ctx context.Context, wait, signal string) error
	Matched(ctx context.Context) ([]domain.SignalWait, error)
	// DropWait removes a wait that has ended.
	DropWait(ctx context.Context, wait string) error

	// Budgets lists the budgets with their current windows.
	Budgets(ctx context.Context) ([]domain.Budget, error)
	// HoldBudgets stores what a call is about to use, before the call.
	HoldBudgets(ctx context.Context, holds []domain.BudgetHold) error
	// ChargeBudgets ends reservations that belong to no checkpoint.
	ChargeBudgets(ctx context.Context, charges []domain.BudgetCharge) error
	// LoseBudgetCalls charges the calls that a crash interrupted with what they reserved.
	LoseBudgetCalls(ctx context.Context) error
	// BudgetHolds lists what calls in flight have reserved.
	BudgetHolds(ctx context.Context) ([]domain.BudgetHold, error)
	// BudgetWaiters lists runs that wait for a budget, oldest first.
	BudgetWaiters(ctx context.Context, budget string, limit int) ([]domain.BudgetWait, error)

	Approval(ctx context.Context, id string) (domain.Approval, error)
	// Approvals returns the approval requests that match a filter.
	Approvals(ctx context.Context, f domain.ApprovalFilter) (domain.List[domain.Approval], error)
	// Audit adds a record that belongs to no checkpoint, such as a refused action.
	Audit(ctx context.Context, r domain.AuditRecord) error

	// RestoreVersion makes an earlier version the current version of its plan ("plan.restore"). The
	// error has CodeStale if the current version is not Base.
	RestoreVersion(ctx context.Context, r domain.RestoredVersion, actor domain.Actor) (domain.Plan, error)
	// AcceptPlan accepts a draft ("plan.accept").
	AcceptPlan(ctx context.Context, planID string, actor domain.Actor, reason string) (domain.Plan, error)
	// EventsAfter returns at most limit audit events with Seq > after, in order, with their journal
	// rows. A run ID restricts them to that run.
	EventsAfter(ctx context.Context, after int64, run string, limit int) ([]domain.AuditEvent, error)
	// LastEvent returns the newest audit sequence number.
	LastEvent(ctx context.Context) (int64, error)
	// Generation returns the generation of the database, which a restore changes.
	Generation() string
	// InstanceKey returns the key from which idempotency keys are derived. It survives restores.
	InstanceKey() []byte
	// Hold returns the reason why nothing is executed, or nil. A hold begins only when the store is
	// opened. EndHold ends the hold for new runs, and reports whether there was one. Held runs stay
	// held.
	Hold(ctx context.Context) (*domain.Hold, error)
	EndHold(ctx context.Context, actor domain.Actor, reason string) (bool, error)
	// MayRelease returns an error if the actor may not release held runs now.
	MayRelease(ctx context.Context, actor domain.Actor) error
}

// Stepped is implemented by handlers whose effects all happen in [Call.Substep]. In such an
// attempt, only the sub-step in flight can be in doubt, not the whole attempt.
type Stepped interface{ Stepped() bool }

// Handler runs nodes of one type.
type Handler interface {
	// Handle runs an attempt. If the error wraps a [*walk.Failure], that failure has the details.
	// The context ends at the timeout of the node, at a cancel, and at shutdown. context.Cause
	// returns the reason.
	Handle(ctx context.Context, call *Call) (Result, error)
}

// HandlerFunc is a function that implements Handler.
type HandlerFunc func(ctx context.Context, call *Call) (Result, error)

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, call *Call) (Result, error) { return f(ctx, call) }

// Call is an attempt of a visit or item.
type Call struct {
	RunID   string
	PlanKey string
	// Owner is the person who started the run. Only their runs can read its memory.
	Owner   string
	Session string // the ID of the run, unless a session was given
	Node    *walk.ProgramNode
	Visit   int
	Item    int // -1 outside a foreach
	Attempt int
	// Input is the resolved input, including secrets. It consists of nil, bool, string,
	// json.Number, []any, and map[string]any. Handlers must not change it.
	Input any
	// Last is the value of `last`.
	Last any
	// IdempotencyKey is the same for all attempts of the visit or item. Failures is how many of them failed, also before a
	// resume. Attempts that a crash or a cancellation ended do not count.
	IdempotencyKey string
	Failures       int
	// Plan is the program of the run, and Request the input of the run. Handlers of step plans
	// build their context message from both.
	Plan    *walk.Program
	Request any
	// Previous returns the completed steps that the node depends on, in the order of the plan. Only
	// step plans have such steps.
	Previous func() []PreviousResult
	// Log adds a line to the log of the attempt. level is debug, info, warn, or error.
	Log func(level, message string)
	// Progress publishes the progress of the attempt. The last one is stored.
	Progress func(done, total int64, message string)
	// Stream publishes a part of a model's text. It is not stored.
	Stream func(text string)
	// RecordUse records that an agent or provider takes part, so that filters find the run. Calls in
	// Substep are recorded automatically. Used may be nil.
	RecordUse func(kind, name string)
	// Approve checks whether sub-step n may make a call with these exact arguments. It returns nil
	// if a person has approved the call, and a [*walk.Failure] if the call was rejected. If the
	// error wraps [ErrApprovalPending], there is no answer yet. The handler must return that error, and is
	// called again after the answer.
	Approve func(n int, q CallToApprove) error
	// Substep runs fn at most once per visit, item, and n, even across crashes. If a response is
	// recorded, it returns that response without calling fn. If the error wraps [ErrBudget], a
	// limit of the run prevented the call or made its response useless. The handler must return
	// that error.
	Substep func(n int, kind string, digest string, effect walk.Effect, fn func() (any, domain.Usage, error)) (any, error)
	// RecordPrompt stores the prompt of sub-step n for people: with its response, or before a call that
	// is not idempotent. It must be called before Substep. Asking may be nil.
	RecordPrompt func(n int, prompt any)
	// Expect announces the maximum usage of the model call of sub-step n. It must be called before
	// Substep. Needs may be nil.
	Expect func(n int, need ExpectedUsage)
	// RecordHandoff records, as sub-step n, a handoff from one agent to another, or its rejection. It
	// records the handoff once, even across crashes.
	RecordHandoff func(n int, p HandoffRequest) error
	// RecordHandoffResult records, as sub-step n, the result of the handoff at sub-step request: an output or
	// a failure.
	RecordHandoffResult func(n, request int, p HandoffRequest, out any, err error) error
}

// PreviousResult is a completed step for context messages. Number starts at 1.
type PreviousResult struct {
	Number            int
	Node, Task, Agent string
	Output            any
}

// Result is the result of a successful attempt.
type Result struct {
	Output any // any Go value that can be encoded as JSON
	// Usage is the model usage without that of sub-steps.
	Usage domain.Usage
	Agent string // the agent that ran the attempt, for handoffs
}

// Registry finds the handlers of nodes, and their side-effect classes.
type Registry interface {
	// Handler returns the handler of a node, by node ID, or else by type.
	Handler(node *walk.ProgramNode) (Handler, bool)
	// Effect returns the side-effect class of the node with this resolved input.
	Effect(node *walk.ProgramNode, input any) walk.Effect
	// Catalog returns the catalog for the validation of plans.
	Catalog() *planner.Catalog
}

// AgentNames is implemented by registries that have display names of agents.
type AgentNames interface {
	AgentIdentity(id string) (name, icon, color string)
}

// SessionMemory is implemented by registries that can recall earlier runs of a session.
type SessionMemory interface {
	// Recall returns the memory of a session that is relevant for a text, or "".
	Recall(ctx context.Context, owner, session, text string) (string, error)
}

// Secrets resolves ${secret.NAME} for the tools and hosts that the configuration of the secret
// permits.
type Secrets interface {
	// Secret returns a secret for a call of a tool. input is the input of the call, with unresolved
	// secrets.
	Secret(name, tool string, input any) (string, bool)
	// Mask replaces every secret in text with dots.
	Mask(text []byte) []byte
}

// Callback returns the callback address of a run.
type Callback func(run string) string
