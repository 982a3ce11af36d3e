package engine

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// runner executes one run: it passes events to the machine of the run, and executes the resulting
// commands. Only its goroutine uses its fields, except inbox and pipe, whose types document who
// uses them.
type runner struct {
	e    *Engine
	id   string
	gone chan struct{} // closed when the goroutine ends

	inbox mailbox
	pipe  pipeline
	slots slots
	calls calls

	created  *domain.Run // a run without a journal, as it was created
	m        *runstate.Machine
	attempts map[*runstate.Attempt]*attempt // active
	options  optionsCache

	batch           []message          // taken from the mailbox and not handled yet
	todo            []runstate.Command // being executed
	ready           runstate.AttemptReady
	done            runstate.AttemptDone
	deadline        deadline
	resumePreviewed string // digest of the preview of a resume before Recover
	began           bool   // the last event started a step
	stopping        bool
	dropped         bool // this runner no longer executes the run
}

func newRunner(e *Engine, id string) *runner {
	a := &runner{e: e, id: id, inbox: newMailbox(), gone: make(chan struct{}), attempts: map[*runstate.Attempt]*attempt{}}
	a.pipe.open(e.store, id, a.inbox.wakeOnce, a.execute)
	a.slots = slots{sched: e.sched, run: id, granted: func() bool { return a.inbox.post(nodeSlotMsg{}) }}
	return a
}

// ahead returns how many checkpoints of the run may be on their way to the store. The active runs
// share a total number.
func (a *runner) ahead() int64 {
	return min(maxUnacked, max(minUnacked, allUnacked/max(1, a.e.sched.atWork.Load())))
}

// loop is the goroutine of the run.
func (a *runner) loop() {
	defer a.end()
	defer func() {
		// A bug must not stop other runs. This run is quarantined as it is stored, and loaded again
		// at the next start.
		if p := recover(); p != nil {
			a.e.log.Error("defect in the engine", "run_id", a.id, "panic", p, "stack", string(debug.Stack()))
			a.e.setDefective(a.id)
			a.abandon(domain.Errorf(domain.CodeInternal, "run %s cannot continue: %v", a.id, p))
		}
	}()
	if err := a.load(); err != nil {
		if a.quarantineDamaged(err) {
			return
		}
		a.abandon(err)
		switch domain.CodeOf(err) {
		case domain.CodeCorrupt, domain.CodeNotFound:
		default: // it may be temporary
			a.e.timers.Set(a.id, a.e.now().Add(30*time.Second))
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
			a.abandon(domain.Errorf(domain.CodeUnavailable, "the store does not accept checkpoints"))
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

// idle reports whether the run needs no goroutine, because it is final or waits.
func (a *runner) idle() bool {
	if len(a.attempts) > 0 || !a.pipe.idle() {
		return false
	}
	if a.m.Ended() || a.stopping || a.e.opts.Remote != nil {
		return true
	}
	// If the run is in the queue, the scheduler starts a runner. A node slot that was promised to
	// this runner must find it.
	return !a.slots.nodeQueued && (a.slots.queued || a.nothingStarts())
}

// nothingStarts reports whether no step may start now.
func (a *runner) nothingStarts() bool {
	env := a.env()
	return a.m.Blocked(env) || a.m.Next(env.Now) == nil
}

func (a *runner) isStopping() bool {
	a.stopping = a.stopping || a.inbox.stopRequested()
	return a.stopping
}

// load reads the run and folds its journal. It settles what was in flight at a crash, according to
// its side-effect class.
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
	p, err := a.e.program(ctx, run.ProgramRef)
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
	a.resumePreviewed = ""
	if working {
		a.resumePreviewed = a.resumeDigest()
	}
	a.handle(&runstate.Recover{Stepped: a.e.steppedInFlight(a.m.State), Announced: a.resumePreviewed != ""})
	failpoint.Hit("recover.settled")
	if working {
		// An active run may also wait for children that were never created, or that ended while the
		// engine was stopped. Open checks runs that only wait.
		for _, c := range a.m.Pending() {
			a.execute(c.Task, nil)
		}
	}
	return nil
}

// resumeDigest returns the digest of the preview of a resume, if a process left the run behind, or "".
func (a *runner) resumeDigest() string {
	if !a.e.env.Unattended(a.m.Run) {
		return ""
	}
	p, _, _, err := a.view().Resume(domain.ActionRequest{Run: a.id, Action: domain.ActionResume})
	if err != nil {
		return "" // the resume itself will report the error
	}
	return p.Digest
}

// steppedInFlight returns the nodes of attempts in flight whose effects all happen in sub-steps.
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

// unrunnable ends a run whose plan cannot be compiled with this configuration.
func (e *Engine) unrunnable(ctx context.Context, run domain.Run, cause error) error {
	switch domain.CodeOf(cause) {
	case domain.CodeInvalid, domain.CodeCorrupt, domain.CodeNotFound:
	default:
		return cause
	}
	if run.Status != domain.RunQueued || !run.StartedAt.IsZero() {
		return cause // it continues when the plan can be compiled again
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

// abandon answers everything that waits and leaves the run as it is stored.
func (a *runner) abandon(err error) {
	a.e.log.Error("run cannot be executed", "run_id", a.id, "err", err)
	a.dropped = true
	a.pipe.fail(err)
	a.dismiss(a.batch, func(m answerable) { m.answer(err) }) //seed:dismiss
	for !a.e.runs.evict(a) {
		a.dismiss(a.inbox.take(), func(m answerable) { m.answer(err) })
	}
}

// dismiss handles messages that will not be applied: it returns the slots that they carry, and
// answers their senders.
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

// end returns everything that the runner holds.
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

// durable runs the actions of checkpoints that are durable now, and handles rejected ones.
func (a *runner) durable() {
	if err := a.pipe.durable(); err != nil {
		a.reject(err)
	}
}

// reject handles a rejected checkpoint: everything after the last durable row is void.
func (a *runner) reject(err error) {
	code := domain.CodeOf(err)
	if code == domain.CodeConflict || code == domain.CodeStale {
		a.refold(err)
		return
	}
	a.e.log.Error("checkpoint rejected", "run_id", a.id, "seq", a.pipe.fence, "err", err)
	if code == domain.CodeUnavailable || code == domain.CodeInternal && a.isStopping() {
		a.abandon(err)
		return
	}
	a.pipe.retryLater()
}

// refold loads the run again after a lost race. If another writer has changed the run, this engine
// stops executing it.
func (a *runner) refold(cause error) {
	a.pipe.conflicts++
	fenced := domain.Errorf(domain.CodeConflict, "run %s was changed by someone else: %w", a.id, cause)
	a.pipe.fail(fenced)
	r, err := a.e.store.Run(context.WithoutCancel(a.e.base), a.id)
	if err != nil || r.LastSeq != a.pipe.durableSeq() || a.pipe.conflicts > 3 {
		a.abandon(fenced)
		return
	}
	for k, t := range a.attempts {
		t.cancel(ErrFenced)
		delete(a.attempts, k)
		a.slots.returnNode()
	}
	a.pipe.reset()
	a.e.handlers.budgets.settle(a.calls.Clear())
	if err := a.load(); err != nil && !a.quarantineDamaged(err) {
		a.abandon(err)
	}
}
