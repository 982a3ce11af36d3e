// Package control makes kairosd the control plane of runs on Temporal: it starts their workflows, forwards actions to
// them, and stores what they report.
package control

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/kairosd/kairosd/internal/budget/runledger"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/versions"
	"github.com/kairosd/kairosd/temporal/internal/driver"
	"github.com/kairosd/kairosd/temporal/internal/launch"
	"github.com/kairosd/kairosd/temporal/internal/steps"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// Options configures a control plane.
type Options struct {
	Client    client.Client
	Converter converter.DataConverter // of the client
	Queue     string                  // the task queue of runs
	LostAfter time.Duration           // see wire.Input
	// UI is the address of Temporal's own UI, or empty. Namespace is part of its addresses.
	UI, Namespace string
	Log           *slog.Logger
}

// QueueOf returns the task queue on which kairosd receives the reports of runs.
func QueueOf(queue string) string { return queue + "-control" }

// Control is the engine's Remote.
type Control struct {
	Options
	programs driver.Programs

	engine  *engine.Engine // after Open
	records engine.Records
	store   *store.Store

	base context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu       sync.Mutex
	launches map[string]bool // runs that are being launched; guarded by mu
	hold     wire.Hold       // guarded by mu
	held     chan struct{}   // hold has changed

	announcing sync.Mutex    // one announcement of a hold at a time
	slots      chan struct{} // of launches and comparisons at the same time
	scanning   sync.Mutex    // one comparison of all runs at a time
	workers    atomic.Pointer[domain.Workers]
}

var _ engine.Remote = (*Control)(nil)

// New returns a control plane that does nothing until Open.
func New(o Options) *Control {
	c := &Control{Options: o, launches: map[string]bool{}, held: make(chan struct{}, 1), slots: make(chan struct{}, maxParallel)}
	c.base, c.stop = context.WithCancel(context.Background())
	return c
}

const (
	// maxParallel is the number of launches, and of comparisons, at the same time.
	maxParallel = 16
	// retryMin and retryMax limit the pause after a failed launch or connection.
	retryMin, retryMax = 500 * time.Millisecond, 30 * time.Second
	// requestTimeout is the time in which a workflow must have handled a request.
	requestTimeout = 15 * time.Second
	// callTimeout limits other calls of the server.
	callTimeout = 30 * time.Second
)

// Open begins to receive reports, and compares the record with the workflows in the background.
func (c *Control) Open(_ context.Context, e *engine.Engine, s *store.Store) error {
	c.engine, c.records, c.store = e, engine.RecordsOf(e), s
	c.wg.Go(func() { c.receive(QueueOf(c.Queue), 0, steps.RegisterRecord) })
	c.wg.Go(func() { c.receive(wire.BudgetsOf(QueueOf(c.Queue)), maxAsking, steps.RegisterBudgets) })
	c.wg.Go(c.watchWorkers)
	c.wg.Go(func() {
		c.retry("compare runs with their workflows", func() error { return c.Reconcile(c.base) })
		if c.base.Err() == nil {
			c.records.Compared()
		}
	})
	c.wg.Go(c.announceHolds)
	return nil
}

// Close stops. Reports that arrive later wait in their queue.
func (c *Control) Close() {
	c.stop()
	c.wg.Wait()
	c.Client.Close()
}

// Address returns the address of the workflow of a run in Temporal's own UI, or "".
func (c *Control) Address(run string) string {
	if c.UI == "" {
		return ""
	}
	return strings.TrimRight(c.UI, "/") + "/namespaces/" + url.PathEscape(c.Namespace) + "/workflows/" + url.PathEscape(run)
}

// retry calls fn until it succeeds or the control plane closes.
func (c *Control) retry(doing string, fn func() error) {
	for pause := retryMin; c.base.Err() == nil; pause = min(2*pause, retryMax) {
		err := fn()
		if err == nil {
			return
		}
		if c.base.Err() == nil {
			c.Log.Warn("Temporal: cannot "+doing+"; kairosd tries again", "err", err, "in", pause)
		}
		select {
		case <-time.After(pause):
		case <-c.base.Done():
		}
	}
}

// maxAsking is the number of questions about shared budgets that wait at the same time.
const maxAsking = 10_000

// receive works on a queue until the control plane closes. most is the number of activities at the same time, or 0 for the default.
func (c *Control) receive(queue string, most int, register func(steps.ActivityRegistry, steps.Record)) {
	var w sdkworker.Worker
	c.retry("receive what runs report", func() error {
		w = sdkworker.New(c.Client, queue, sdkworker.Options{DisableWorkflowWorker: true, WorkerStopTimeout: callTimeout,
			MaxHeartbeatThrottleInterval: time.Second, MaxConcurrentActivityExecutionSize: most})
		register(w, c)
		return w.Start()
	})
	if c.base.Err() == nil {
		<-c.base.Done()
		w.Stop()
	}
}

// settings returns what the workflows of a run's program need.
func (c *Control) settings(p *runstate.Compiled) launch.Settings {
	signer, _ := c.signingKey().Public().(ed25519.PublicKey)
	return launch.Settings{Options: c.records.Options(p), Key: c.derived("idempotency keys of runs on Temporal"), LostAfter: c.LostAfter,
		Control: QueueOf(c.Queue), Signer: signer, Agents: c.records.Agents, Callback: c.records.Callback,
		Budgets: c.records.Budgets()}
}

// derived returns a key that is derived from kairosd's own key, which leaves the machine in no form.
func (c *Control) derived(purpose string) []byte {
	m := hmac.New(sha256.New, c.store.InstanceKey())
	m.Write([]byte(purpose))
	return m.Sum(nil)
}

// signingKey returns the key that signs requests to runs. It survives restores, as kairosd's own key does.
func (c *Control) signingKey() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(c.derived("signatures of requests to runs on Temporal"))
}

// plans finds the plans that kairosd stores.
type plans struct {
	*versions.Reader
	*store.Store
}

// Resolve finds the version that a plan step runs.
func (p plans) Resolve(ctx context.Context, name string) (string, error) {
	return p.Reader.Resolve(ctx, name)
}

func (c *Control) plans() launch.Plans { return plans{c.engine.Reader, c.store} }

// Accept returns an error if a plan, or one that it starts, cannot be found or compiled.
func (c *Control) Accept(ctx context.Context, p *runstate.Compiled, n domain.NewRun) error {
	return launch.Check(ctx, c.plans(), &c.programs, domain.ProgramRef{Hash: p.Hash, Profile: n.Profile})
}

// Launch starts the workflow of a run in the background.
func (c *Control) Launch(run string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.launches[run] || c.base.Err() != nil {
		return
	}
	c.launches[run] = true
	c.wg.Go(func() {
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.launches, run)
		}()
		c.retry("start a run", func() error { return c.launch(run) })
	})
}

// errWaiting is the error of a launch during maintenance or a hold.
var errWaiting = errors.New("kairosd starts no runs now")

// launch starts the workflow of a run, unless it has one.
func (c *Control) launch(id string) error {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-c.base.Done():
		return nil
	}
	if on, err := c.engine.Timed().Executing(c.base); err != nil || !on {
		return cmp.Or(err, errWaiting)
	}
	ctx, cancel := context.WithTimeout(c.base, callTimeout)
	defer cancel()
	run, err := c.store.Run(ctx, id)
	if err != nil || run.Status.Final() {
		return err
	}
	if run.Parent != nil {
		err := c.admit(ctx, run.ID)
		if gone := (*serviceerror.NotFound)(nil); !errors.As(err, &gone) {
			return err
		}
	}
	in, err := c.input(ctx, run)
	if err != nil {
		return c.cannotStart(ctx, run, err)
	}
	in.Resumed = !run.StartedAt.IsZero()
	o := c.start(run)
	o.WorkflowExecutionErrorWhenAlreadyStarted = true
	_, err = c.Client.ExecuteWorkflow(ctx, o, wire.RunWorkflow, in)
	var exists *serviceerror.WorkflowExecutionAlreadyStarted
	var invalid *serviceerror.InvalidArgument
	switch {
	case errors.As(err, &exists):
		return c.check(ctx, run, false)
	case errors.As(err, &invalid):
		return c.cannotStart(ctx, run, err)
	case err != nil:
		return err
	}
	c.holdAgain(run.ID, in.Hold)
	return nil
}

// cannotStart quarantines a run that no retry would start.
func (c *Control) cannotStart(ctx context.Context, run domain.Run, err error) error {
	switch domain.CodeOf(err) {
	case domain.CodeUnavailable, domain.CodeLocked:
		return err
	}
	if ctx.Err() != nil {
		return err
	}
	c.Log.Error("Temporal: a run cannot be started", "run_id", run.ID, "err", err)
	return c.records.Lost(ctx, run.ID, domain.Messagef("the run cannot be started on Temporal: %s", err))
}

// start returns the options of the workflow of a run. A run that has not begun never has a second workflow.
func (c *Control) start(run domain.Run) client.StartWorkflowOptions {
	o := client.StartWorkflowOptions{ID: run.ID, TaskQueue: wire.RunsOf(c.Queue, driver.Version), StaticSummary: run.PlanKey,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL}
	if run.StartedAt.IsZero() {
		o.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	}
	return o
}

// input returns the input of the workflow that executes a stored run from now on.
func (c *Control) input(ctx context.Context, run domain.Run) (wire.Input, error) {
	if err := run.Corrupt(); err != nil {
		return wire.Input{}, err
	}
	rows, err := c.store.Journal(ctx, run.ID, 0)
	if err != nil {
		return wire.Input{}, err
	}
	p, err := c.engine.Compile(ctx, run.ProgramRef)
	if err != nil {
		return wire.Input{}, err
	}
	in, err := launch.Stored(ctx, c.plans(), &c.programs, run, rows, c.settings(p))
	if err != nil {
		return in, err
	}
	in.Hold, in.Admitted = c.currentHold(), true
	for parent := run.Parent; parent != nil; {
		ancestor, err := c.store.Run(ctx, parent.Run)
		if err != nil {
			return in, err
		}
		if rule := ancestor.Concurrency; rule != nil && rule.Key != "" {
			in.Keys = append(in.Keys, rule.Key)
		}
		in.Depth, parent = in.Depth+1, ancestor.Parent
	}
	return in, nil
}

// Report stores the checkpoints of a run.
func (c *Control) Report(ctx context.Context, r wire.Report) (*wire.Reported, error) {
	rep := reportOf(r)
	err := c.records.Add(ctx, rep)
	if refused, ok := errors.AsType[*domain.Error](err); ok && refused.Reason == domain.ReasonConcurrency {
		return nil, temporal.NewNonRetryableApplicationError(refused.Error(), string(refused.Code), nil)
	}
	if errors.Is(err, engine.ErrGap) {
		if err = c.fill(ctx, r.Run.ID); err == nil {
			err = c.records.Add(ctx, rep)
		}
	}
	if h := c.currentHold(); err == nil && r.Created != nil && h.On {
		err = c.sendHold(ctx, r.Run.ID, h) // its parent may have started it before the maintenance
	}
	if err != nil && ctx.Err() == nil {
		c.Log.Error("Temporal: a report cannot be stored; it arrives again", "run_id", r.Run.ID, "attempt", attempt(ctx), "err", err)
	}
	budgets := c.records.Budgets()
	if err != nil || budgets.Digest == r.Budgets {
		return nil, err
	}
	return &wire.Reported{Budgets: &budgets}, nil
}

// Reserve reserves the usage of a model call from the shared budgets.
func (c *Control) Reserve(ctx context.Context, q runledger.SharedAsk) (runledger.SharedAnswer, error) {
	a, err := c.records.Reserve(ctx, q)
	if domain.CodeOf(err) == domain.CodeConflict {
		err = temporal.NewNonRetryableApplicationError(err.Error(), string(domain.CodeConflict), nil)
	}
	return a, err
}

func attempt(ctx context.Context) int32 {
	if activity.IsActivity(ctx) {
		return activity.GetInfo(ctx).Attempt
	}
	return 0
}

func reportOf(r wire.Report) engine.Report {
	now := r.Run
	rep := engine.Report{Run: r.Run.ID, Created: r.Created, Journal: r.Journal, Versions: r.Versions, Checkpoints: r.Checkpoints, Now: &now}
	if r.Version != nil {
		rep.Versions = append(rep.Versions, *r.Version)
	}
	return rep
}

// Child returns a child run, and what its resume reopens.
func (c *Control) Child(ctx context.Context, id string) (wire.Child, error) {
	run, err := c.store.Run(ctx, id)
	known := wire.Child{Callback: c.records.Callback(id)}
	if domain.CodeOf(err) == domain.CodeNotFound {
		return known, nil
	} else if err != nil {
		return wire.Child{}, err
	}
	if known.Run = run; run.Status == domain.RunCompleted {
		return known, nil
	}
	if known.Journal, err = c.store.Journal(ctx, id, 0); err != nil {
		return known, err
	}
	if wire.Page(known.Journal) < len(known.Journal) {
		known.Journal, known.Rows = nil, int64(len(known.Journal))
	}
	if !run.Status.Final() {
		return known, nil
	}
	req := domain.ActionRequest{Run: id, Action: domain.ActionResume, Reason: "the parent run was resumed", Rev: run.LastSeq}
	view, err := c.engine.View(ctx, id)
	if err != nil {
		return known, fmt.Errorf("the child run %s: %w", id, err)
	}
	_, reset, options, err := view.Resume(req)
	if err != nil {
		known.Refused = err.Error()
		return known, nil
	}
	known.Resume = &wire.Action{Actor: domain.System, Request: req, Reset: &reset, Options: options}
	return known, nil
}

// Rows returns rows of a run that are too large for the input of its workflow.
func (c *Control) Rows(ctx context.Context, q wire.Rows) ([]domain.Entry, error) {
	rows, err := c.store.Journal(ctx, q.Run, q.First-1)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("the record of run %s has no row %d yet", q.Run, q.First)
	}
	rows = rows[:min(int64(len(rows)), q.Last-q.First+1)]
	return rows[:wire.Page(rows)], nil
}

// Recall reads the memory of a session.
func (c *Control) Recall(ctx context.Context, q wire.Recall) ([]domain.Memory, error) {
	return c.store.Recollect(ctx, q.Owner, q.Session, q.Text, q.Limit)
}
