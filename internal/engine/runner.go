package engine

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
)

// runner executes one run. Its fields belong to its goroutine, but for inbox and pipe,
// which say who else uses them.
type runner struct {
	e    *Engine
	id   string
	gone chan struct{} // closed when the goroutine ends

	inbox mailbox
	pipe  pipeline
	slots slots
	ready dispatcher
	calls ledger

	created *domain.Run // a run without journal, as it was created
	run     domain.Run
	prog    *runstate.Compiled
	s       *runstate.State
	running map[runstate.StepKey]*attempt

	noted    map[domain.Use]bool
	dueDirty bool
	pathLen  int

	batch        []message // taken from the mailbox and not handled
	budget       string    // why nothing starts as long as something runs
	runningSince time.Time
	deadline     *time.Timer // of max_duration
	stopping     bool
	ended        bool
	reopening    bool // a resume is being recorded; its status is set already
	// loaded and recovered are the revisions before and after recover.
	loaded, recovered int64
	// offered is the digest of the preview of a resume before recover; empty: the
	// run was not left behind by a process.
	offered string
	dropped bool // the run is no longer this runner's business
}

func newRunner(e *Engine, id string) *runner {
	a := &runner{e: e, id: id, inbox: newMailbox(), gone: make(chan struct{}), running: map[runstate.StepKey]*attempt{}}
	a.pipe.open(e.store, id, a.inbox.nudge)
	a.slots = slots{sched: e.sched, run: id, granted: func() bool { return a.inbox.post(nodeSlotMsg{}) }}
	a.ready = dispatcher{underWay: func(k runstate.StepKey) bool { return a.running[k] != nil }, now: e.now}
	return a
}

// ahead is how many checkpoints of the run may be on their way to the disk. The
// runs that work share what keeps the store busy.
func (a *runner) ahead() int64 {
	return min(maxUnacked, max(minUnacked, allUnacked/max(1, a.e.sched.atWork.Load())))
}

// loop is the run's goroutine.
func (a *runner) loop() {
	defer a.end()
	defer func() {
		// A defect here must not stop other runs: this one is put aside as it is
		// stored, and taken up again at the next start.
		if p := recover(); p != nil {
			a.e.log.Error("defect in the engine", "run_id", a.id, "panic", p, "stack", string(debug.Stack()))
			a.e.setDefective(a.id)
			a.giveUp(domain.Errorf(domain.CodeInternal, "run %s cannot go on: %v", a.id, p))
		}
	}()
	if err := a.load(); err != nil {
		if a.setAside(err) {
			return
		}
		a.giveUp(err)
		switch domain.CodeOf(err) {
		case domain.CodeCorrupt, domain.CodeNotFound:
		default: // it may heal
			a.e.timers.set(a.id, a.e.now().Add(30*time.Second))
		}
		return
	}
	for {
		a.durable()
		if a.dropped {
			return
		}
		if a.pipe.broken && a.pipe.retryNow.Swap(false) {
			a.pipe.again()
		}
		if !a.pipe.broken {
			for a.batch = a.inbox.take(); len(a.batch) > 0; a.batch = a.batch[1:] {
				a.batch[0].apply(a)
			}
			a.advance()
			a.freeNodes()
			a.putDown()
			a.flush()
			a.pipe.handOver()
		} else if a.isStopping() {
			a.giveUp(domain.Errorf(domain.CodeUnavailable, "the store does not accept checkpoints"))
			return
		}
		if a.dropped || a.idle() && a.e.runs.evict(a) {
			return
		}
		if a.pipe.await(a.pipe.target(a.ahead(), len(a.running) > 0)) {
			<-a.inbox.wake
		}
	}
}

// putDown records that a run was left at rest by a clean shutdown, so that the
// next start does not take it for a crash.
func (a *runner) putDown() {
	if a.stopping && len(a.running) == 0 && !a.ended && !a.s.CleanStop && a.run.Status == domain.RunRunning {
		a.verbRow(runstate.VerbDecision{Verb: runstate.VerbStop}, domain.System.Name, "kairosd was stopped")
	}
}

// idle reports whether the run needs no goroutine: it is final, or waits.
func (a *runner) idle() bool {
	if len(a.running) > 0 || !a.pipe.quiet() {
		return false
	}
	if a.ended || a.stopping {
		return true
	}
	// With a ticket in the queue the scheduler brings the run back; a node slot
	// that was promised to this runner must find it.
	return !a.slots.nodeQueued && (a.slots.queued || a.ready.peek(a.s) == nil || a.blocked())
}

// blocked reports whether nothing may start.
func (a *runner) blocked() bool { return a.stopping || a.barred() }

// barred is blocked for a reason that outlives a restart.
func (a *runner) barred() bool {
	return a.s.Paused || a.s.Held || a.s.Quarantined || a.e.opts.Safe || a.budget != "" || a.s.Budget != nil || a.ended || a.early() || a.prog.Replans && a.s.Replanning() != nil
}

// early reports whether the run may not start yet.
func (a *runner) early() bool {
	return a.run.StartedAt.IsZero() && !a.run.StartAt.IsZero() && a.run.StartAt.After(a.e.now())
}

func (a *runner) isStopping() bool {
	a.stopping = a.stopping || a.inbox.stopRequested()
	return a.stopping
}

// load reads the run and folds its journal; what was in flight when the daemon
// died is settled by its effect class.
func (a *runner) load() error {
	ctx := context.WithoutCancel(a.e.base)
	fresh := a.created != nil && a.created.LastSeq == 0
	if a.created != nil {
		a.run, a.created = *a.created, nil
	} else {
		r, err := a.e.store.Run(ctx, a.id)
		if err != nil {
			return err
		}
		a.run = r
	}
	if err := a.run.Corrupt(); err != nil {
		return err
	}
	p, err := a.e.program(ctx, a.run.Hash)
	if err != nil {
		return a.unrunnable(ctx, err)
	}
	a.prog = p
	input, err := runstate.Decode(a.run.Input)
	if err != nil {
		return domain.Errorf(domain.CodeCorrupt, "input of run %s: %w", a.id, err)
	}
	var journal []domain.Entry
	if !fresh {
		if journal, err = a.e.Journal(ctx, a.run); err != nil {
			return err
		}
	}
	s, err := a.e.Fold(ctx, p, a.run, input, journal, false)
	if err != nil {
		return err
	}
	a.s, a.pipe.fence = s, s.Seq
	a.ready.requeue(a.s)
	a.pathLen = len(a.run.Path)
	a.ended = a.run.Status.Final()
	a.dueDirty = true
	loaded := s.Seq
	working := (a.run.Status == domain.RunRunning || a.run.Status == domain.RunQueued) && !fresh
	if working && a.e.env.Unattended(a.run) {
		a.offered = a.e.offer(ctx, a.id)
	}
	a.recover()
	a.loaded, a.recovered = loaded, s.Seq
	if working {
		// Beside other work it may wait for children that were never created, or
		// ended while nobody listened; Open sees to runs that only wait.
		a.lookForChildren()
	}
	return nil
}

// unrunnable ends a run whose plan cannot be compiled here.
func (a *runner) unrunnable(ctx context.Context, cause error) error {
	switch domain.CodeOf(cause) {
	case domain.CodeInvalid, domain.CodeCorrupt, domain.CodeNotFound:
	default:
		return cause
	}
	if a.run.Status != domain.RunQueued || !a.run.StartedAt.IsZero() {
		return cause // it goes on when the plan fits again
	}
	now := a.e.now()
	headline := cause.Error()
	err := a.e.store.Commit(ctx, domain.Checkpoint{Run: a.id, Fence: a.run.LastSeq,
		Patch: &domain.RunPatch{Status: domain.RunFailed, Headline: &headline, EndedAt: &now, DueAt: &time.Time{},
			Error: &domain.RunError{Code: "plan", Message: headline}},
		Audit: []domain.AuditRecord{statusRecord(a.id, domain.RunFailed, "", headline)}})
	if err != nil {
		return err
	}
	a.e.sched.ended(a.id, a.concurrencyKey())
	a.e.watchers.changed(a.id)
	return cause
}

func (a *runner) concurrencyKey() string {
	if a.run.Concurrency == nil {
		return ""
	}
	return a.run.Concurrency.Key
}

// giveUp answers everything that waits and leaves the run as it is stored.
func (a *runner) giveUp(err error) {
	a.e.log.Error("run cannot be executed", "run_id", a.id, "err", err)
	a.dropped = true
	a.pipe.fail(err)
	a.dismiss(a.batch, func(m answerable) { m.answer(err) }) //seed:dismiss
	for !a.e.runs.evict(a) {
		a.dismiss(a.inbox.take(), func(m answerable) { m.answer(err) })
	}
}

// dismiss deals with messages that will not be handled: end gives back the slots
// that they bring, and those who wait are answered.
func (a *runner) dismiss(mail []message, answer func(answerable)) {
	for _, m := range mail {
		switch m := m.(type) {
		case slotMsg:
			a.slots.accept(m.token)
		case nodeSlotMsg:
			a.slots.returnNode()
		case answerable:
			answer(m)
		}
	}
}

// end gives back what the runner holds.
func (a *runner) end() {
	for _, t := range a.running {
		t.cancel(ErrFenced)
		a.slots.returnNode() //seed:return-slot
	}
	if a.deadline != nil {
		a.deadline.Stop()
	}
	a.slots.releaseNodes()
	a.slots.yield()
	close(a.gone)
}

// durable runs what waited for checkpoints that are durable now, and deals with
// rejected ones.
func (a *runner) durable() {
	if err := a.pipe.durable(); err != nil {
		a.reject(err)
	}
}

// reject deals with a rejected checkpoint: everything after the last durable
// row is void.
func (a *runner) reject(err error) {
	code := domain.CodeOf(err)
	if code == domain.CodeConflict || code == domain.CodeStale {
		a.refold(err)
		return
	}
	a.e.log.Error("checkpoint rejected", "run_id", a.id, "seq", a.pipe.fence, "err", err)
	if code == domain.CodeUnavailable || code == domain.CodeInternal && a.isStopping() {
		a.giveUp(err)
		return
	}
	a.pipe.retryLater()
}

// refold reads the run again after a lost race. If another writer has moved the
// run, this engine yields it: one wins.
func (a *runner) refold(cause error) {
	a.pipe.conflicts++
	fenced := domain.Errorf(domain.CodeConflict, "run %s was changed by someone else: %w", a.id, cause)
	a.pipe.fail(fenced)
	r, err := a.e.store.Run(context.WithoutCancel(a.e.base), a.id)
	if err != nil || r.LastSeq != a.pipe.durableSeq() || a.pipe.conflicts > 3 {
		a.giveUp(fenced)
		return
	}
	for k, t := range a.running {
		t.cancel(ErrFenced)
		delete(a.running, k)
		a.slots.returnNode()
	}
	a.pipe.reset()
	a.noted, a.calls.reserved = nil, nil
	a.budget = ""
	if err := a.load(); err != nil && !a.setAside(err) {
		a.giveUp(err)
	}
}
