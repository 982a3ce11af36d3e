package engine

import (
	"context"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
)

// With a Remote, a run with a concurrency key is launched when the scheduler admits it. Until then, the engine owns the run,
// and carries out actions on it. A child run has an execution already, which reports it, waits, and carries out actions.

// admission admits the runs of a Remote.
type admission struct {
	mu sync.Mutex
	// unlaunched holds the runs that have no execution, until the record has been compared. ready is closed then.
	unlaunched map[string]bool
	ready      chan struct{}
}

// isReady reports whether the record has been compared. The caller holds mu.
func (a *admission) isReady() bool { return a.unlaunched == nil }

// launch begins to execute a run, as soon as its concurrency key is free.
func (r *remote) launch(run *domain.Run) {
	if concurrencyKey(run) == "" {
		r.Launch(run.ID)
		return
	}
	r.admission.mu.Lock()
	defer r.admission.mu.Unlock()
	switch {
	case !r.admission.isReady():
		r.admission.unlaunched[run.ID] = true
	case run.StartedAt.IsZero() && run.StartAt.After(r.e.now()):
		r.e.timers.Set(run.ID, run.StartAt)
	default:
		r.e.sched.enqueue(ticketOf(run))
	}
}

// admitted launches a run that the scheduler has admitted. The run keeps its key until it ends, and needs no slot.
func (r *remote) admitted(g slotGrant) {
	r.Launch(g.run)
	r.e.sched.release(g.run, g.token)
	r.e.background(func() { // it may have ended before it was queued, and must not keep its concurrency key
		if run, err := r.e.store.Run(r.e.base, g.run); err == nil && run.Status.Final() {
			r.e.sched.ended(run.ID, concurrencyKey(&run))
		}
	})
}

// queueChild lets a child run wait for its concurrency key, according to its last report. A paused one does not wait. Before the record
// has been compared, only the comparison shows whether a run that is not new was admitted.
func (r *remote) queueChild(run *domain.Run, created, filled bool) {
	key := concurrencyKey(run)
	if key == "" || run.Parent == nil || filled || r.e.opts.Safe {
		return
	}
	r.admission.mu.Lock()
	ready := r.admission.isReady()
	r.admission.mu.Unlock()
	switch {
	case run.Paused:
		r.e.sched.withdraw(run.ID, key)
	case run.Status == domain.RunQueued && (ready || created) && !r.e.sched.hasKey(key, run.ID):
		r.launch(run)
	}
	if created {
		r.e.starts.cancelReplaced(r.e.base, run)
	}
}

// relaunch launches a stored run that has no execution, unless it is paused.
func (r *remote) relaunch(run string) {
	now, err := r.e.store.Run(r.e.base, run)
	if err != nil {
		r.e.log.Error("a run cannot be started; the next start tries again", "run_id", run, "err", err)
		return
	}
	if now.Status == domain.RunQueued && !now.Paused && !r.e.opts.Safe {
		r.launch(&now)
	}
}

// owned reports whether the engine executes an action on a run, because no execution has it: it has ended, or waits for its
// concurrency key. An ended run with a key is resumed here, so that it waits for its key. The caller holds the lock of the run.
func (r *remote) owned(ctx context.Context, run *domain.Run, action domain.Action) (bool, error) {
	key := concurrencyKey(run)
	switch {
	case run.Status.Final():
		return action != domain.ActionResume || key != "", nil
	case key == "" || run.Status != domain.RunQueued && !run.StartedAt.IsZero():
		return false, nil
	}
	select {
	case <-r.admission.ready:
	case <-r.e.handlers.stopping:
		return false, errNotOpen()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	if run.Parent != nil {
		if open, err := r.Executes(ctx, run.ID); open || err != nil {
			return false, err
		}
	}
	r.e.timers.Set(run.ID, time.Time{})
	return r.e.sched.withdraw(run.ID, key), nil
}

// actHere carries out an action on a run that has no execution.
func (r *remote) actHere(ctx context.Context, actor domain.Actor, req domain.ActionRequest) error {
	m := actionMsg{actor, req, newReply[done]()}
	_, err := askRun(ctx, r.e, req.Run, m, m.reply)
	r.relaunch(req.Run)
	return err
}

// Begin executes an unfinished run that has no execution and waits for one.
func (s Records) Begin(run domain.Run) { s.e.starts.remote.launch(&run) }

// admitAll admits the unfinished runs in order, after their comparison with their executions.
func (r *remote) admitAll(ctx context.Context) error {
	unfinished, err := r.e.store.Unfinished(ctx)
	if err != nil {
		return err
	}
	r.admission.mu.Lock()
	unlaunched := r.admission.unlaunched
	if !r.admission.isReady() {
		close(r.admission.ready)
	}
	r.admission.unlaunched = nil
	r.admission.mu.Unlock()
	var waiting []*domain.Run
	for i := range unfinished {
		run := &unfinished[i]
		held := run.Status == domain.RunWaiting && run.WaitReason == domain.WaitHeld && run.StartedAt.IsZero()
		switch key := concurrencyKey(run); {
		case key == "" || held:
		case unlaunched[run.ID]:
			waiting = append(waiting, run)
		default:
			r.e.sched.holdKey(key, run.ID)
		}
	}
	for _, run := range waiting {
		r.relaunch(run.ID)
		r.e.background(func() { r.e.starts.cancelReplaced(r.e.base, run) })
	}
	return nil
}

// cancelFor cancels a run in favor of a newer one. It tries again while the run does not respond.
func (r *remote) cancelFor(ctx context.Context, req domain.ActionRequest) error {
	for pause := minForwardPause; ; pause = min(2*pause, maxForwardPause) {
		err := r.act(ctx, domain.System, req)
		if domain.CodeOf(err) != domain.CodeUnavailable {
			return err
		}
		select {
		case <-time.After(pause):
		case <-r.e.handlers.stopping:
			return err
		}
	}
}

// ignores reports whether the runner of a run that a Remote executes ignores a command: the execution gets it from the rows.
func (r *remote) ignores(task runstate.Task) bool {
	if r.Remote == nil {
		return false
	}
	switch task.(type) {
	case runstate.StatusChanged, runstate.VersionChanged:
		return false
	}
	return true
}
