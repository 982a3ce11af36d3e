package engine

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// runner executes one run: it hands events to the run's machine, and executes the commands
// that follow. Its fields belong to its goroutine, but for inbox and pipe, which say who else
// uses them.
type runner struct {
	e    *Engine
	id   string
	gone chan struct{} // closed when the goroutine ends

	inbox mailbox
	pipe  pipeline
	slots slots
	calls ledger

	created  *domain.Run // a run without journal, as it was created
	m        *runstate.Machine
	attempts map[*runstate.Attempt]*attempt // active
	options  optionsCache

	batch    []message          // taken from the mailbox and not handled
	todo     []runstate.Command // being executed
	ready    runstate.AttemptReady
	done     runstate.AttemptDone
	deadline deadline
	offered  string // digest of the preview of a resume before Recover
	began    bool   // the last event started a step
	stopping bool
	dropped  bool // the run is no longer this runner's business
}

func newRunner(e *Engine, id string) *runner {
	a := &runner{e: e, id: id, inbox: newMailbox(), gone: make(chan struct{}), attempts: map[*runstate.Attempt]*attempt{}}
	a.pipe.open(e.store, id, a.inbox.nudge, a.execute)
	a.slots = slots{sched: e.sched, run: id, granted: func() bool { return a.inbox.post(nodeSlotMsg{}) }}
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
		// A defect here must not stop other runs: this one is quarantined as it is
		// stored, and picked up again at the next start.
		if p := recover(); p != nil {
			a.e.log.Error("defect in the engine", "run_id", a.id, "panic", p, "stack", string(debug.Stack()))
			a.e.setDefective(a.id)
			a.giveUp(domain.Errorf(domain.CodeInternal, "run %s cannot continue: %v", a.id, p))
		}
	}()
	if err := a.load(); err != nil {
		if a.quarantineDamaged(err) {
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
			if a.stopping {
				a.handle(runstate.Shutdown{})
			}
			a.flush()
			a.pipe.handOver()
		} else if a.isStopping() {
			a.giveUp(domain.Errorf(domain.CodeUnavailable, "the store does not accept checkpoints"))
			return
		}
		if a.dropped || a.idle() && a.e.runs.evict(a) {
			return
		}
		if a.pipe.await(a.pipe.target(a.ahead(), len(a.attempts) > 0)) {
			<-a.inbox.wake
		}
	}
}

// idle reports whether the run needs no goroutine: it is final, or waits.
func (a *runner) idle() bool {
	if len(a.attempts) > 0 || !a.pipe.quiet() {
		return false
	}
	if a.m.Ended() || a.stopping {
		return true
	}
	// With a ticket in the queue the scheduler brings the run back; a node slot
	// that was promised to this runner must find it.
	return !a.slots.nodeQueued && (a.slots.queued || a.nothingStarts())
}

// nothingStarts reports whether no step may start as things are.
func (a *runner) nothingStarts() bool {
	env := a.env()
	return a.m.Blocked(env) || a.m.Next(env.Now) == nil
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
	var run domain.Run
	if a.created != nil {
		run, a.created = *a.created, nil
	} else {
		var err error
		if run, err = a.e.store.Run(ctx, a.id); err != nil {
			return err
		}
	}
	if err := run.Corrupt(); err != nil {
		return err
	}
	p, err := a.e.program(ctx, run.Hash)
	if err != nil {
		return a.e.unrunnable(ctx, run, err)
	}
	input, err := runstate.Decode(run.Input)
	if err != nil {
		return domain.Errorf(domain.CodeCorrupt, "input of run %s: %w", a.id, err)
	}
	var journal []domain.Entry
	if !fresh {
		if journal, err = a.e.Journal(ctx, run); err != nil {
			return err
		}
	}
	s, err := a.e.Fold(ctx, p, run, input, journal, true)
	if err != nil {
		return err
	}
	a.pipe.fence = s.Seq
	a.m = runstate.NewMachine(run, p, s, a.pipe.completed)
	if flushed := a.e.flushed; flushed != nil {
		a.m.Observe = func(s *runstate.State) { flushed(a.id, s) }
	}
	working := (run.Status == domain.RunRunning || run.Status == domain.RunQueued) && !fresh
	a.offered = ""
	if working {
		a.offered = a.offer()
	}
	a.handle(&runstate.Recover{Stepped: a.e.steppedInFlight(a.m.State), Announced: a.offered != ""})
	failpoint.Hit("recover.settled")
	if working {
		// Beside other work it may wait for children that were never created, or
		// ended while no one listened; Open sees to runs that only wait.
		for _, c := range a.m.Pending() {
			a.execute(c.Task, nil)
		}
	}
	return nil
}

// offer is the digest of what a resume of a run that a process left behind does; empty: no
// process did.
func (a *runner) offer() string {
	if !a.e.env.Unattended(a.m.Run) {
		return ""
	}
	p, _, _, err := a.view().Resume(domain.ActionRequest{Run: a.id, Action: domain.ActionResume})
	if err != nil {
		return "" // the resume itself will meet the same trouble
	}
	return p.Digest
}

// steppedInFlight are the nodes of attempts in flight that do everything with an effect in
// sub-steps.
func (e *Engine) steppedInFlight(s *runstate.State) map[int]bool {
	var stepped map[int]bool
	for _, w := range s.Open {
		if w.InFlight() && e.stepped(&s.Program.Nodes[w.Node]) {
			if stepped == nil {
				stepped = map[int]bool{}
			}
			stepped[w.Node] = true
		}
	}
	return stepped
}

// unrunnable ends a run whose plan cannot be compiled here.
func (e *Engine) unrunnable(ctx context.Context, run domain.Run, cause error) error {
	switch domain.CodeOf(cause) {
	case domain.CodeInvalid, domain.CodeCorrupt, domain.CodeNotFound:
	default:
		return cause
	}
	if run.Status != domain.RunQueued || !run.StartedAt.IsZero() {
		return cause // it continues when the plan fits again
	}
	now := e.now()
	headline, message := cause.Error(), domain.Messagef("%s", cause)
	err := e.store.Commit(ctx, domain.Checkpoint{Run: run.ID, Fence: run.LastSeq,
		Patch: &domain.RunPatch{Status: domain.RunFailed, Headline: &headline, Message: message, EndedAt: &now, DueAt: &time.Time{},
			Error: &domain.RunError{Code: "plan", Message: headline}},
		Audit: []domain.AuditRecord{runstate.StatusRecord(run.ID, domain.RunFailed, "", message)}})
	if err != nil {
		return err
	}
	e.sched.ended(run.ID, concurrencyKey(&run))
	e.watchers.changed(run.ID, domain.RunFailed)
	return cause
}

func concurrencyKey(r *domain.Run) string {
	if r.Concurrency == nil {
		return ""
	}
	return r.Concurrency.Key
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
	for _, t := range a.attempts {
		t.cancel(ErrFenced)
		a.slots.returnNode() //seed:return-slot
	}
	a.deadline.arm(0, nil)
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
	for k, t := range a.attempts {
		t.cancel(ErrFenced)
		delete(a.attempts, k)
		a.slots.returnNode()
	}
	a.pipe.reset()
	a.calls.reserved = nil
	if err := a.load(); err != nil && !a.quarantineDamaged(err) {
		a.giveUp(err)
	}
}
