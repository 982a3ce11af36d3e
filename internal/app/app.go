// Package app contains the operations of kairosd, one method each. The HTTP API, the dashboard, and
// the command line call these methods and no lower package.
//
// Every method takes the principal of the request, and the policy decides whether they may use it.
// An operation that changes something writes an audit record with its effect. With an idempotency
// key, it is executed once, even if kairosd is killed between the effect and the answer. A repeated
// request returns the object in its current state.
package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/bulk"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/draft"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/keylock"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/tool"
)

// Config configures an [App]. Log may be nil, and Now defaults to time.Now.
type Config struct {
	Store  Store
	Engine *engine.Engine
	// Bulk executes bulk operations. It is required.
	Bulk *bulk.Service
	// Drafts plans drafts, and Planner plans all other requests. Both are required.
	Drafts  *draft.Service
	Planner Planner
	// Auth authenticates people and programs. It is required.
	Auth *auth.Service
	// Checker verifies the audit log. It is required.
	Checker *store.AuditChecker
	// Tools returns the tools, agents, and providers of the active configuration. It is required.
	Tools func() *tool.Box
	// Server and Settings describe the running server. They are required. Without a daemon, they
	// are [NoServer].
	Server   Server
	Settings Settings
	// WatchedDirectories returns the directories in which hooks may watch files. If it is nil, there are none.
	WatchedDirectories func() []string
	// Demo runs demonstrations. If it is nil, there are none.
	Demo Demonstrator
	Now  func() time.Time
	Log  *slog.Logger
}

// Planner plans requests.
type Planner interface {
	// Classify estimates the complexity of a request without a model.
	Classify(query string) domain.Classification
	// Ask stores the plan for a request, and starts a run of it with the receipt of the request. If
	// there is no plan, the error wraps a *domain.PlanError.
	Ask(ctx context.Context, by domain.Actor, r domain.AskRequest) (domain.PlannerAnswer, error)
	// PlanRequest stores the plan for a planning request, and starts no run.
	PlanRequest(ctx context.Context, by domain.Actor, r domain.PlanningRequest) (domain.PlannerPlan, error)
	// Describe returns a stored version in the form of an answer to a request.
	Describe(p domain.Plan, v domain.Version) domain.PlannerPlan
	// Directed parses "/agent text", which names the agent that answers.
	Directed(query string) (agent, text string, ok bool)
	// Alternative stores an alternative of a plan as a version of the plan.
	Alternative(ctx context.Context, by domain.Actor, v domain.Version, kind string, askFirst bool) (domain.PlannerPlan, error)
}

// Store reads the data of operations, and runs the transactions that they write in.
type Store interface {
	Do(o store.Operation, f func(tx *store.Tx) (object string, err error)) (object string, repeated bool, err error)
	Audit(ctx context.Context, r domain.AuditRecord) error
	// Done finds the object of an operation that was executed before with the same key.
	Done(ctx context.Context, o store.Operation) (object string, done bool, err error)
	accountStore
	approvalStore
	bulkStore
	draftStore
	planStore
	runStore
	scheduleStore
	hookStore
	signalStore
	viewStore
	preferenceStore
	auditStore
	failureStore
	memoryStore
	spendStore
	budgetStore
}

// App contains the operations by subject.
type App struct {
	Accounts    *Accounts
	Agents      *Agents
	Approvals   *Approvals
	Audit       *Audit
	Budgets     *Budgets
	Bulk        *Bulk
	Demo        *Demo
	Drafts      *Drafts
	Failures    *Failures
	FirstSteps  *FirstSteps
	Hooks       *Hooks
	Memory      *Memory
	Planning    *Planning
	Plans       *Plans
	PlanTools   *PlanTools
	Preferences *Preferences
	Providers   *Providers
	Runs        *Runs
	Schedules   *Schedules
	Signals     *Signals
	System      *System
	Tokens      *Tokens
	Tools       *Tools
	Views       *Views
}

// New returns an App. It panics if a required field is missing.
func New(c Config) *App {
	if c.Store == nil || c.Engine == nil || c.Auth == nil || c.Bulk == nil || c.Drafts == nil || c.Planner == nil || c.Checker == nil ||
		c.Tools == nil ||
		c.Server == nil ||
		c.Settings == nil {
		panic("app: Store, Engine, Auth, Bulk, Drafts, Planner, Checker, Tools, Server, and Settings are required")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.WatchedDirectories == nil {
		c.WatchedDirectories = func() []string { return nil }
	}
	k := &kernel{
		watched:  c.WatchedDirectories,
		store:    c.Store,
		engine:   c.Engine,
		bulk:     c.Bulk,
		drafts:   c.Drafts,
		planner:  c.Planner,
		auth:     c.Auth,
		checker:  c.Checker,
		tools:    c.Tools,
		server:   c.Server,
		settings: c.Settings,
		demo:     c.Demo,
		now:      stored(c.Now),
		log:      c.Log,
	}
	return &App{Accounts: &Accounts{k}, Tokens: &Tokens{k}, Agents: &Agents{k}, Approvals: &Approvals{k}, Audit: &Audit{k},
		Budgets: &Budgets{k}, Bulk: &Bulk{k}, Demo: &Demo{k}, Drafts: &Drafts{k}, Failures: &Failures{k},
		FirstSteps: &FirstSteps{k}, Hooks: &Hooks{k},
		Memory: &Memory{k}, Planning: &Planning{k}, Plans: &Plans{k}, PlanTools: &PlanTools{k},
		Preferences: &Preferences{k}, Providers: &Providers{k},
		Runs: &Runs{k}, Schedules: &Schedules{k}, Signals: &Signals{k}, System: &System{k}, Tools: &Tools{k}, Views: &Views{k}}
}

// AccountsOf returns the operations on accounts, for commands that work without a daemon.
func AccountsOf(s Store, a *auth.Service, now func() time.Time) (*Accounts, *Tokens) {
	k := &kernel{store: s, auth: a, now: stored(now), log: slog.New(slog.DiscardHandler)}
	return &Accounts{k}, &Tokens{k}
}

// stored returns a clock with the precision of the store.
func stored(now func() time.Time) func() time.Time {
	return func() time.Time { return now().UTC().Truncate(time.Microsecond) }
}

// kernel contains the fields that the subjects share.
type kernel struct {
	store    Store
	engine   *engine.Engine
	bulk     *bulk.Service
	drafts   *draft.Service
	planner  Planner
	auth     *auth.Service
	checker  *store.AuditChecker
	tools    func() *tool.Box
	server   Server
	settings Settings
	watched  func() []string // directories in which hooks may watch files
	demo     Demonstrator
	now      func() time.Time
	log      *slog.Logger
	keys     keylock.Locks // keys of active commands
}

// Meta contains the fields of every request that changes something.
type Meta struct {
	// By is the principal.
	By domain.Actor
	// Key is the idempotency key of the client. If it is empty, a repeated request is executed
	// again.
	Key string
	// Repeated, if not nil, is set to true if the operation was executed before with the same key.
	Repeated *bool
}

// allow returns an error if the principal may not use an operation. If the operation changes
// something, it records the refusal.
func (k *kernel) allow(ctx context.Context, op Operation, who domain.Actor, object string) error {
	return k.permit(ctx, op, who, object, Allow(who, op))
}

// permit records the refusal of an operation that changes something. It returns err.
func (k *kernel) permit(ctx context.Context, op Operation, who domain.Actor, object string, err error) error {
	if domain.CodeOf(err) != domain.CodeForbidden || policy[op].Kind == Query {
		return err
	}
	denial := domain.AuditRecord{
		Action:  "access.denied",
		Actor:   who.Name,
		Source:  who.Source,
		Request: who.Request,
		Object:  object,
		Result:  "denied",
		Reason:  err.Error(),
	}
	if auditErr := k.store.Audit(context.WithoutCancel(ctx), denial); auditErr != nil {
		k.log.Error("record a refusal", "operation", op, "err", auditErr)
	} else if e, ok := errors.AsType[*domain.Error](err); ok {
		e.Audited = true
	}
	return err
}

// object describes the result of an operation: its id, and how a repetition finds it.
type object[T any] struct {
	id   func(T) string
	find func(ctx context.Context, id string) (T, error)
}

// counted is the object of operations that return a number of changes. A repetition returns the
// same number.
var counted = object[int64]{
	id:   func(n int64) string { return strconv.FormatInt(n, 10) },
	find: func(_ context.Context, n string) (int64, error) { return strconv.ParseInt(n, 10, 64) },
}

// perform executes an operation on stored objects: it checks the policy, then runs f in one
// transaction with the audit records and the record of the idempotency key. f may run more than
// once, and must read and write only through tx. request is the request of the client, without its
// principal.
func perform[T any](
	ctx context.Context,
	k *kernel,
	op Operation,
	m Meta,
	request any,
	o object[T],
	f func(tx *store.Tx) (T, error),
) (T, error) {
	out, _, err := performWithWork(ctx, k, op, m, request, o, f)
	return out, err
}

// performWithWork is perform for an operation with more work after its transaction. repeated reports that
// it was performed before with the same key.
func performWithWork[T any](
	ctx context.Context,
	k *kernel,
	op Operation,
	m Meta,
	request any,
	o object[T],
	f func(tx *store.Tx) (T, error),
) (out T, repeated bool, err error) {
	if err := k.allow(ctx, op, m.By, string(op)); err != nil {
		return out, false, err
	}
	intent, err := k.intent(op, m, request)
	if err != nil {
		return out, false, err
	}
	return transact(ctx, k, intent, m, o, f)
}

// transact runs f in one transaction with the record of the idempotency key.
func transact[T any](
	ctx context.Context,
	k *kernel,
	intent store.Operation,
	m Meta,
	o object[T],
	f func(tx *store.Tx) (T, error),
) (out T, repeated bool, err error) {
	id, repeated, err := k.store.Do(intent, func(tx *store.Tx) (string, error) {
		var err error
		if out, err = f(tx); err != nil {
			return "", err
		}
		return o.id(out), nil
	})
	if err != nil || !repeated {
		return out, false, err
	}
	m.repeat()
	out, err = o.find(ctx, id)
	return out, true, err
}

// before checks the policy, and finds the result of an earlier operation with this key. It is for
// operations that check or read something before their transaction. A repetition skips these
// checks.
func before[T any](ctx context.Context, k *kernel, op Operation, m Meta, request any, o object[T]) (out T, done bool, err error) {
	if err := k.allow(ctx, op, m.By, string(op)); err != nil {
		return out, false, err
	}
	intent, err := k.intent(op, m, request)
	if err != nil {
		return out, false, err
	}
	id, done, err := k.store.Done(ctx, intent)
	if err != nil || !done {
		return out, false, err
	}
	m.repeat()
	out, err = o.find(ctx, id)
	return out, true, err
}

// encode encodes the detail of an audit record, which contains plain values.
func encode(v any) domain.RawJSON {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return text
}

// intent describes an operation to the store.
func (k *kernel) intent(op Operation, m Meta, request any) (store.Operation, error) {
	o := store.Operation{Name: string(op), Action: policy[op].Audit, By: m.By, At: k.now(), Key: m.Key}
	if m.Key == "" {
		return o, nil
	}
	text, err := json.Marshal(request)
	if err != nil {
		return o, fmt.Errorf("digest of a request: %w", err)
	}
	sum := sha256.Sum256(text)
	o.Digest = hex.EncodeToString(sum[:])
	return o, nil
}

// repeat records that the operation was executed before.
func (m Meta) repeat() {
	if m.Repeated != nil {
		*m.Repeated = true
	}
}
