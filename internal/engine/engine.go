package engine

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine/timing"
	"github.com/kairosd/kairosd/internal/events"
	"github.com/kairosd/kairosd/internal/inspect"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/tail"
	"github.com/kairosd/kairosd/internal/versions"
)

// Config is the configuration of an engine. Store and Registry are required.
type Config struct {
	Store    Store
	Registry Registry
	Secrets  Secrets      // nil means that no reference to a secret can be resolved
	Callback Callback     // nil means that runs have no callback address
	Logger   *slog.Logger // nil means no log
	Options  Options
}

// Options tune an engine. A zero field means the default.
type Options struct {
	MaxRunning int // maximum number of active runs; default 64
	MaxNodes   int // maximum number of running nodes; default DefaultMaxNodes
	// StopGrace is the time that running handlers have at shutdown before their contexts end. The
	// default is 10 s.
	StopGrace time.Duration
	// CancelGrace is the time that the handlers of a cancelled run have to return before they are
	// abandoned. The default is 4 s.
	CancelGrace time.Duration
	// OwnRunsOnly executes only runs that this engine started, and their child runs.
	OwnRunsOnly bool
	// SeparateApprovals prevents the person who started a run from approving it.
	SeparateApprovals bool
	// People returns the persons behind a name: the creators of tokens with that name. If it is
	// nil, a name is a person.
	People func(ctx context.Context, name string) ([]string, error)
	// ConsentTimeout is the time after which an unanswered consent request counts as rejected. 0
	// means no limit.
	ConsentTimeout time.Duration
	// QuarantineAfter is the number of crashes during one node after which its run is quarantined.
	// The default is 3.
	QuarantineAfter int
	// MaxReplans is the maximum number of replans of a run. The default is 2. A negative number
	// means none.
	MaxReplans int
	// Remote executes the runs, or is nil if the engine executes them.
	Remote Remote
	// Safe accepts runs and actions but executes nothing, for a server whose runs crash the daemon.
	Safe bool
}

// Limits without an option.
const (
	maxUnacked     = 64   // pipelined checkpoints of one run that are not durable yet
	minUnacked     = 8    // the part of these that a run may have, however many runs are active
	allUnacked     = 1024 // of all runs: two batches of the store, because more would only use memory
	handOverAt     = 32   // checkpoints of one run that are passed to the store together
	maxRecursion   = 8    // nesting of plan nodes
	timeoutGrace   = 100 * time.Millisecond
	abandonStopped = 2 * time.Second
)

// Engine runs plans. It is safe for concurrent use.
type Engine struct {
	*events.Bus
	*versions.Reader
	*inspect.Inspector

	store      Store
	setup      atomic.Pointer[setup] // replaced as a whole
	exchanging sync.Mutex            // one replacement at a time
	log        *slog.Logger
	opts       Options     // without the fields of setup
	env        preview.Env // for previews

	clock  *timing.Clock
	timers *timing.Timers
	sched  *scheduler

	base   context.Context // parent of every handler's context
	cancel context.CancelCauseFunc

	runs     *registry
	watchers watchers
	// maintenance is set while no node may start.
	maintenance atomic.Bool
	starts      *starter
	handlers    *handlers
	children    *childRuns
	replans     *replans
	signals     *signals
	stopped     chan struct{}
	wg          sync.WaitGroup

	flushed func(run string, s *runstate.State) // for tests: receives the state at every checkpoint
}

// New returns an engine that executes nothing until Open.
func New(c Config) (*Engine, error) {
	if c.Store == nil {
		return nil, errors.New("engine: Store and Registry are required")
	}
	o := c.Options
	first, err := newSetup(Setup{Registry: c.Registry, Secrets: c.Secrets, Callback: c.Callback, MaxRunning: o.MaxRunning,
		MaxNodes: o.MaxNodes, SeparateApprovals: o.SeparateApprovals, ConsentTimeout: o.ConsentTimeout, MaxReplans: o.MaxReplans})
	if err != nil {
		return nil, err
	}
	o.StopGrace = cmp.Or(o.StopGrace, 10*time.Second)
	o.CancelGrace = cmp.Or(o.CancelGrace, 4*time.Second)
	o.QuarantineAfter = cmp.Or(o.QuarantineAfter, 3)
	log := c.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{
		store: c.Store, log: log, opts: o,
		stopped: make(chan struct{}), clock: timing.New(),
	}
	e.runs = newRegistry(func(run string) *runner { return newRunner(e, run) }, func(a *runner) { e.wg.Go(a.loop) })
	e.watchers.read, e.watchers.created, e.watchers.stopped = e.store.Run, e.runs.untouched, e.stopped
	e.starts, e.children, e.replans = &starter{e: e, remote: remote{e: e, Remote: o.Remote,
		admission: admission{unlaunched: map[string]bool{}, ready: make(chan struct{})}}}, &childRuns{e: e}, &replans{e: e}
	e.signals = &signals{e: e, claimed: map[string]chan struct{}{}, forwarded: map[string]*forwarded{}}
	e.setup.Store(first)
	e.timers = timing.NewTimers(e.clock.Now, func(run string) {
		if e.opts.Remote != nil {
			e.background(func() { e.starts.remote.relaunch(run) })
			return
		}
		e.post(run, timerMsg{})
	})
	e.handlers = &handlers{clock: e.clock, setup: &e.setup, runs: e.runs, live: func(ev domain.Event) { e.Live(ev) },
		budgets:     newBudgets(e),
		instanceKey: e.store.InstanceKey, cancelGrace: o.CancelGrace, stopping: e.timers.Done(), stopped: e.stopped, wg: &e.wg, log: log}
	e.env = preview.Env{Now: e.now, Effect: e.effect, Stepped: e.stepped, Executes: e.handlers.executes, OwnRunsOnly: o.OwnRunsOnly}
	e.base, e.cancel = context.WithCancelCause(context.Background())
	e.Reader = versions.NewReader(c.Store, func() *versions.Compiler { return e.current().compiler })
	inspecting := inspect.Config{Store: c.Store, Versions: e.Reader, Env: &e.env, Describe: e.handlers.describe,
		Quarantine: func(run string) { e.post(run, timerMsg{}) }}
	bus := events.Config{Store: c.Store, Program: e.program, Agent: e.agent, Now: e.now, Log: log}
	if o.Remote != nil {
		output := tail.NewFollower(tail.Config{Read: o.Remote.Active, Publish: e.handlers.live})
		e.starts.remote.output, inspecting.Describe, bus.Follow = output, output.Describe, output.Follow
	}
	e.Inspector, e.Bus = inspect.New(inspecting), events.New(bus)
	e.sched = newScheduler(first.MaxRunning, first.MaxNodes, e.granted)
	return e, nil
}

// Open starts to execute all unfinished runs. It returns as soon as the engine accepts work. Runs
// are loaded when they get a slot.
func (e *Engine) Open(ctx context.Context) error {
	if !e.runs.open() {
		return domain.Errorf(domain.CodeConflict, "the engine is already open, or was stopped")
	}
	if err := e.handlers.budgets.open(ctx); err != nil {
		return err
	}
	e.wg.Go(e.timers.Loop)
	e.wg.Go(e.handlers.watchActivity)
	if e.opts.OwnRunsOnly || e.opts.Safe || e.opts.Remote != nil {
		return nil
	}
	unfinished, err := e.store.Unfinished(ctx)
	if err != nil {
		return err
	}
	live := map[string][]string{} // unfinished children of a run
	for i := range unfinished {
		if p := unfinished[i].Parent; p != nil {
			live[p.Run] = append(live[p.Run], unfinished[i].ID)
		}
	}
	now := e.now()
	var sweep []parent
	for i := range unfinished {
		r := &unfinished[i]
		held := r.Status == domain.RunWaiting && r.WaitReason == domain.WaitHeld
		if r.Concurrency != nil && r.Status != domain.RunQueued && !(held && r.StartedAt.IsZero()) {
			e.sched.holdKey(r.Concurrency.Key, r.ID)
		}
		switch {
		case held: // whatever it waited for, it waits for a person now
		case r.Status == domain.RunQueued && r.StartedAt.IsZero() && r.StartAt.After(now):
			e.timers.Set(r.ID, r.StartAt)
		case r.Status == domain.RunQueued, r.Status == domain.RunRunning:
			e.sched.enqueue(ticketOf(r))
		case r.WaitReason == domain.WaitReplan:
			e.post(r.ID, timerMsg{}) // its planner does not exist any more
		default:
			if !r.DueAt.IsZero() {
				e.timers.Set(r.ID, r.DueAt)
			}
			if r.WaitReason != domain.WaitTimer && r.WaitReason != domain.WaitRetry {
				sweep = append(sweep, parent{r.ID, r.ProgramRef, len(live[r.ID])})
			}
		}
	}
	for i := range unfinished {
		if r := &unfinished[i]; r.Status != domain.RunWaiting || r.WaitReason == domain.WaitHeld {
			delete(live, r.ID) // it checks its children when it gets a slot, or when it is released
		}
	}
	var families [][]string
	for i := range unfinished { // in order
		if p := unfinished[i].Parent; p != nil && len(live[p.Run]) > 0 && live[p.Run][0] == unfinished[i].ID {
			families = append(families, append([]string{p.Run}, live[p.Run]...))
		}
	}
	e.wg.Go(e.signals.open)
	e.wg.Go(func() { e.handlers.budgets.wakeAll(e.base) })
	var replacing []*domain.Run // queued runs that cancel others before they start
	for i := range unfinished {
		r := &unfinished[i]
		if c := r.Concurrency; c != nil && len(c.Cancels) > 0 && r.Status == domain.RunQueued && r.StartedAt.IsZero() {
			replacing = append(replacing, r)
		}
	}
	if len(sweep)+len(families)+len(replacing) > 0 {
		e.wg.Go(func() {
			for _, r := range replacing {
				e.starts.cancelReplaced(e.base, r) //seed:replaced
			}
			e.children.cancelUnneeded(families)
			e.children.sweep(sweep)
		})
	}
	return nil
}

// Stop stops all runs. No node starts any more. Running handlers may finish within the grace
// period. Then their contexts end with the cause ErrStopping, and their results are stored. Runs
// stay `running` in the store and continue at the next Open. The context limits how long Stop
// waits, not the work.
func (e *Engine) Stop(ctx context.Context) error {
	runners, first := e.runs.stop()
	if first {
		e.sched.stop()
		e.timers.Stop()
		for _, a := range runners {
			a.inbox.post(stopMsg{})
		}
		grace := time.AfterFunc(e.opts.StopGrace, func() { e.cancel(ErrStopping) })
		go func() {
			e.wg.Wait()
			grace.Stop()
			e.cancel(ErrStopping)
			e.Bus.Stop()
			close(e.stopped)
		}()
	}
	select {
	case <-e.stopped:
		return nil
	case <-ctx.Done():
		e.cancel(ErrStopping)
		select {
		case <-e.stopped:
			return nil
		case <-time.After(abandonStopped + time.Second):
			return context.Cause(ctx)
		}
	}
}

// now returns the time as the journal stores it: in microseconds, UTC.
func (e *Engine) now() time.Time { return e.clock.Now() }

// ClockAhead returns by how much the engine's clock is ahead of the system clock, because that was
// set back while the engine was running, or 0. The difference stays until the next start.
func (e *Engine) ClockAhead() time.Duration { return e.clock.Ahead() }

// post posts a message to the runner of a run; see registry.post. With a Remote, only runs that have ended have a
// runner, for actions.
func (e *Engine) post(run string, m message) bool {
	if e.opts.Remote != nil {
		switch m.(type) {
		case actionMsg, resolveMsg:
		default:
			return false
		}
	}
	return e.runs.post(run, m)
}

// setDefective marks a run whose runner panicked.
func (e *Engine) setDefective(run string) {
	e.runs.setDefective(run)
	e.sched.forget(run)
	e.timers.Set(run, time.Time{})
}

// granted is called by the scheduler when a run gets a slot.
func (e *Engine) granted(g slotGrant) {
	if e.opts.Remote != nil {
		e.starts.remote.admitted(g)
		return
	}
	if !e.runs.granted(g) {
		e.sched.release(g.run, g.token)
	}
}

// Wait returns when the run is final or waits for a person, or when the context ends.
func (e *Engine) Wait(ctx context.Context, run string) (domain.Run, error) {
	return e.watchers.await(ctx, run, true, func(r *domain.Run) bool {
		return r.Status.Final() || r.Status == domain.RunWaiting && r.WaitReason.NeedsPerson()
	})
}

// WaitFor returns when wanted accepts the run, or when the context ends. It checks the run whenever
// its status changes.
func (e *Engine) WaitFor(ctx context.Context, run string, wanted func(domain.Run) bool) (domain.Run, error) {
	return e.watchers.await(ctx, run, false, func(r *domain.Run) bool { return wanted(*r) })
}

// Load returns the current load of the engine.
func (e *Engine) Load() Load { return e.sched.load() }

// Slots returns the active limits: active runs and running nodes. With a Remote, there are none, and both are 0.
func (e *Engine) Slots() (runs, nodes int) {
	if e.opts.Remote != nil {
		return 0, 0
	}
	return e.sched.slots()
}

// Generation returns the generation of the database. Event IDs begin with it.
func (e *Engine) Generation() string { return e.store.Generation() }

// agent returns how the registry shows an agent.
func (e *Engine) agent(id string) events.Agent {
	names, ok := e.current().Registry.(AgentNames)
	if !ok {
		return events.Agent{}
	}
	name, icon, color := names.AgentIdentity(id)
	return events.Agent{Name: name, Icon: icon, Color: color}
}
