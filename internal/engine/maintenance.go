package engine

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Maintain stops or resumes the start of nodes in all runs. Running nodes finish. Runs can still be
// created, read, decided, and cancelled, and due timers start nothing. The state is not durable:
// the caller stores it and sets it after a restart, before Open.
func (e *Engine) Maintain(on bool) {
	if e.maintenance.Swap(on) == on {
		return
	}
	e.sched.hand(e.sched.setClosed(on))
	if r := e.starts.remote.Remote; r != nil {
		r.Maintain(on)
		return
	}
	if on {
		return
	}
	e.runs.wakeAll()
}

// Timed is what schedules and budgets use of an engine.
type Timed struct{ e *Engine }

// Timed returns what schedules and budgets use of the engine.
func (e *Engine) Timed() Timed { return Timed{e} }

// Start creates a run; see [Engine.Start].
func (t Timed) Start(ctx context.Context, actor domain.Actor, r domain.StartRequest) (domain.Run, error) {
	return t.e.Start(ctx, actor, r)
}

// Executing reports whether a new run would be executed now: the engine is open, no maintenance is on,
// and the database is not held.
func (t Timed) Executing(ctx context.Context) (bool, error) {
	e := t.e
	if e.maintenance.Load() || e.opts.Safe || e.opts.OwnRunsOnly || e.runs.isStopping() {
		return false, nil
	}
	held, err := e.starts.held(ctx)
	return !held && err == nil, err
}

// Now returns the time of the engine's clock, which does not go back.
func (t Timed) Now() time.Time { return t.e.now() }

// Maintaining reports whether no node may start.
func (e *Engine) Maintaining() bool { return e.maintenance.Load() }
