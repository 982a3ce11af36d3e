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
	"github.com/kairosd/kairosd/internal/events"
	"github.com/kairosd/kairosd/internal/inspect"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/versions"
)

// Config is what an engine needs. Store and Registry are required.
type Config struct {
	Store    Store
	Registry Registry
	Secrets  Secrets      // nil: no reference to a secret resolves
	Logger   *slog.Logger // nil: nothing is logged
	Options  Options
}

// Options tune an engine; each zero value means the default.
type Options struct {
	MaxRunning int // runs that work at once; default 64
	MaxNodes   int // nodes that run at once; default 256
	// StopGrace is how long running handlers may finish at shutdown before
	// their contexts end; default 10 s.
	StopGrace time.Duration
	// CancelGrace is how long the handlers of a cancelled run may take to end
	// before they are abandoned; default 4 s.
	CancelGrace time.Duration
	// OwnRunsOnly executes runs that this engine started, and their children,
	// and leaves all other unfinished ones alone.
	OwnRunsOnly bool
	// SeparateApprovals refuses that who started a run approves it.
	SeparateApprovals bool
	// People are the persons behind a name: the makers of the tokens of that name.
	// nil: a name is a person.
	People func(ctx context.Context, name string) ([]string, error)
	// ConsentTimeout is how long a call that asks waits for an answer before it
	// counts as rejected; 0: for ever.
	ConsentTimeout time.Duration
	// QuarantineAfter is the number of crashes within one node after
	// which its run is parked; default 3.
	QuarantineAfter int
	// MaxReplans is how often one run may be planned again; default 2, negative
	// for never.
	MaxReplans int
	// Safe accepts runs and acts on them, and executes nothing: for an
	// installation whose runs kill the daemon.
	Safe bool
}

// Defaults that are not worth an option.
const (
	maxUnacked     = 64   // pipelined checkpoints of one run that are not durable yet
	minUnacked     = 8    // of those, a run may have as many however many runs work
	allUnacked     = 1024 // of all runs: two of the store's batches; more would only take memory
	handOverAt     = 32   // checkpoints of one run that are put together before the store gets them
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
	setup      atomic.Pointer[setup] // exchanged as a whole
	exchanging sync.Mutex            // one exchange at a time
	log        *slog.Logger
	opts       Options     // without what is in setup
	env        preview.Env // of previews

	clock  *clock
	timers *timers
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
	stopped     chan struct{}
	wg          sync.WaitGroup

	flushed func(run string, s *runstate.State) // for tests: sees the state of every checkpoint
}

// New makes an engine that executes nothing until Open.
func New(c Config) (*Engine, error) {
	if c.Store == nil {
		return nil, errors.New("engine: Store and Registry are required")
	}
	o := c.Options
	first, err := newSetup(Setup{Registry: c.Registry, Secrets: c.Secrets, MaxRunning: o.MaxRunning, MaxNodes: o.MaxNodes,
		SeparateApprovals: o.SeparateApprovals, ConsentTimeout: o.ConsentTimeout, MaxReplans: o.MaxReplans})
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
		stopped: make(chan struct{}), clock: newClock(),
	}
	e.runs = newRegistry(func(run string) *runner { return newRunner(e, run) }, func(a *runner) { e.wg.Go(a.loop) })
	e.watchers.read, e.watchers.created, e.watchers.stopped = e.store.Run, e.runs.untouched, e.stopped
	e.starts, e.children, e.replans = &starter{e: e}, &childRuns{e: e}, &replans{e: e}
	e.setup.Store(first)
	e.timers = newTimers(e.clock.now, func(run string) { e.post(run, timerMsg{}) })
	e.handlers = &handlers{clock: e.clock, setup: &e.setup, runs: e.runs, live: func(ev domain.Event) { e.Live(ev) },
		instanceKey: e.store.InstanceKey, cancelGrace: o.CancelGrace, stopping: e.timers.done, stopped: e.stopped, wg: &e.wg, log: log}
	e.env = preview.Env{Now: e.now, Effect: e.effect, Stepped: e.stepped, Executes: e.handlers.executes, OwnRunsOnly: o.OwnRunsOnly}
	e.base, e.cancel = context.WithCancelCause(context.Background())
	e.Reader = versions.NewReader(c.Store, func() *versions.Compiler { return e.current().compiler })
	e.Inspector = inspect.New(inspect.Config{Store: c.Store, Versions: e.Reader, Env: &e.env, AddLogs: e.handlers.logsOf,
		Quarantine: func(run string) { e.post(run, timerMsg{}) }})
	e.Bus = events.New(events.Config{Store: c.Store, Program: e.program, Agent: e.agent, Now: e.now, Log: log})
	e.sched = newScheduler(first.MaxRunning, first.MaxNodes, e.granted)
	return e, nil
}

// Open picks up every unfinished run and begins to execute. It returns as soon
// as work is accepted: runs are folded when their turn comes.
func (e *Engine) Open(ctx context.Context) error {
	if !e.runs.open() {
		return domain.Errorf(domain.CodeConflict, "the engine is open already, or stopped")
	}
	e.wg.Go(e.timers.loop)
	e.wg.Go(e.handlers.listen)
	if e.opts.OwnRunsOnly || e.opts.Safe {
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
			e.sched.hold(r.Concurrency.Key, r.ID)
		}
		switch {
		case held: // whatever it waited for before, it waits for a person now
		case r.Status == domain.RunQueued && r.StartedAt.IsZero() && r.StartAt.After(now):
			e.timers.set(r.ID, r.StartAt)
		case r.Status == domain.RunQueued, r.Status == domain.RunRunning:
			e.sched.enqueue(ticketOf(r))
		case r.WaitReason == domain.WaitReplan:
			e.post(r.ID, timerMsg{}) // its planner is gone
		default:
			if !r.DueAt.IsZero() {
				e.timers.set(r.ID, r.DueAt)
			}
			if r.WaitReason != domain.WaitTimer && r.WaitReason != domain.WaitRetry {
				sweep = append(sweep, parent{r.ID, r.Hash, len(live[r.ID])})
			}
		}
	}
	for i := range unfinished {
		if r := &unfinished[i]; r.Status != domain.RunWaiting || r.WaitReason == domain.WaitHeld {
			delete(live, r.ID) // it sees to its children when its turn comes, or when it is released
		}
	}
	var families [][]string
	for i := range unfinished { // in their order
		if p := unfinished[i].Parent; p != nil && len(live[p.Run]) > 0 && live[p.Run][0] == unfinished[i].ID {
			families = append(families, append([]string{p.Run}, live[p.Run]...))
		}
	}
	if len(sweep)+len(families) > 0 {
		e.wg.Go(func() {
			e.children.disown(families)
			e.children.sweep(sweep)
		})
	}
	return nil
}

// Stop puts all runs down: no node starts any more, running handlers may finish
// within the grace period and are then cancelled with cause ErrStopping; what
// they return is checkpointed. Runs stay `running` in the store and continue at the
// next Open. The context bounds the wait, not the work.
func (e *Engine) Stop(ctx context.Context) error {
	runners, first := e.runs.stop()
	if first {
		e.sched.stop()
		e.timers.stop()
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

// now is the time as the journal keeps it: microseconds, UTC.
func (e *Engine) now() time.Time { return e.clock.now() }

// ClockAhead is how far the engine's time is ahead of the machine's clock because
// that was put back while the engine worked: it continues from where it was, until it
// is started again. 0: it was not.
func (e *Engine) ClockAhead() time.Duration { return e.clock.ahead() }

// post hands a message to a run's runner; see registry.post.
func (e *Engine) post(run string, m message) bool { return e.runs.post(run, m) }

// setDefective puts a run aside whose runner ends by a panic.
func (e *Engine) setDefective(run string) {
	e.runs.setDefective(run)
	e.sched.forget(run)
	e.timers.set(run, time.Time{})
}

// granted is called by the scheduler when a run may work.
func (e *Engine) granted(g slotGrant) {
	if !e.runs.granted(g) {
		e.sched.release(g.run, g.token)
	}
}

// Wait returns when the run is final or waits for a person, or the context ends.
func (e *Engine) Wait(ctx context.Context, run string) (domain.Run, error) {
	return e.watchers.await(ctx, run, true, func(r *domain.Run) bool {
		return r.Status.Final() || r.Status == domain.RunWaiting && r.WaitReason.NeedsPerson()
	})
}

// WaitFor returns when a run is as the caller wants it, or the context ends. The
// run is looked at whenever its status changes.
func (e *Engine) WaitFor(ctx context.Context, run string, wanted func(domain.Run) bool) (domain.Run, error) {
	return e.watchers.await(ctx, run, false, func(r *domain.Run) bool { return wanted(*r) })
}

// Load reports how busy the engine is.
func (e *Engine) Load() Load { return e.sched.load() }

// Slots are the active limits: runs that may work, and nodes that may run, at
// once.
func (e *Engine) Slots() (runs, nodes int) { return e.sched.slots() }

// Generation names this life of the database; event ids begin with it.
func (e *Engine) Generation() string { return e.store.Generation() }

// agent is how the registry shows an agent.
func (e *Engine) agent(id string) events.Agent {
	names, ok := e.current().Registry.(AgentNames)
	if !ok {
		return events.Agent{}
	}
	name, icon, color := names.AgentIdentity(id)
	return events.Agent{Name: name, Icon: icon, Color: color}
}
