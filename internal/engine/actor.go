package engine

import (
	"context"
	"math"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
)

// Messages to an actor.
type (
	slotMsg     struct{ token slotToken } // the run was granted a slot
	nodeSlotMsg struct{}                  // the run holds one more node slot now
	timerMsg    struct{}                  // something is due
	stopMsg     struct{}                  // the engine stops
	childrenMsg struct{}                  // look whether children have ended
	// childMsg says that a child run ended, or cannot be created.
	childMsg struct {
		run string
		err error
	}
	doneMsg struct {
		attempt *attempt
		result  Result
		err     error
	}
	abandonMsg struct{ attempt *attempt }
	lateMsg    struct {
		attempt *attempt
		output  any
		err     error
	}
)

// actor executes one run. All fields below the mailbox belong to its goroutine.
type actor struct {
	e  *Engine
	id string

	mailMu   sync.Mutex
	mail     []any
	closed   bool
	rejected error // first rejection since the last hand-over
	good     int64 // checkpoints the store has taken, the first that it rejected not counted
	wake     chan struct{}
	gone     chan struct{} // closed when the goroutine ends
	waiting  atomic.Bool   // mail is not empty
	acked    atomic.Int64  // checkpoints answered by the store, either way
	wakeAt   atomic.Int64  // answer to wake at
	retryNow atomic.Bool   // rejected checkpoints are due again

	created *domain.Run // a run without journal, as it was created
	run     domain.Run
	prog    *runstate.Compiled
	s       *runstate.State
	queue   []runstate.StepKey
	running map[runstate.StepKey]*attempt

	next     domain.Checkpoint // being put together
	noted    map[domain.Use]bool
	hasFinal bool
	// dispatching is set while a node is being started or run inline.
	dispatching bool
	dueDirty    bool
	fence       int64
	chain       *domain.Chain
	sent        int64 // checkpoints completed
	handed      int64 // of those, given to the store
	answered    int64
	inflight    []domain.Checkpoint
	deferred    []deferred
	pathLen     int
	broken      bool // rejected; checkpoints are handed over again later
	conflicts   int
	backoff     time.Duration

	batch        []any // taken from the mailbox and not handled
	slot         slotToken
	waitingSlot  bool
	nodeCredit   int
	waitingNode  bool
	budget       string // why nothing starts as long as something runs
	runningSince time.Time
	deadline     *time.Timer // of max_duration
	reserved     map[*attempt]map[int]reservation
	hungry       []reserveMsg // calls that wait for room
	stopping     bool
	ended        bool
	reopening    bool // a resume is being recorded; its status is set already
	// loaded and recovered are the revisions before and after recover.
	loaded, recovered int64
	// offered is the digest of the preview of a resume before recover; empty: the
	// run was not left behind by a process.
	offered string
	dropped bool // the run is no longer this actor's business
}

// deferred is what must not happen before a checkpoint is durable.
type deferred struct {
	index int64 // of the checkpoint; 0: the one being put together
	fn    func(error)
}

func newActor(e *Engine, id string) *actor {
	a := &actor{e: e, id: id, wake: make(chan struct{}, 1), gone: make(chan struct{}), chain: new(domain.Chain), running: map[runstate.StepKey]*attempt{}}
	a.wakeAt.Store(math.MaxInt64)
	return a
}

// post adds a message; false: the actor has ended.
func (a *actor) post(m any) bool {
	a.mailMu.Lock()
	if a.closed {
		a.mailMu.Unlock()
		return false
	}
	a.mail = append(a.mail, m)
	a.waiting.Store(true)
	a.mailMu.Unlock()
	a.nudge()
	return true
}

func (a *actor) nudge() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func (a *actor) take() []any {
	a.mailMu.Lock()
	defer a.mailMu.Unlock()
	mail := a.mail
	a.mail = nil
	a.waiting.Store(false)
	return mail
}

// close refuses further messages if there are none now.
func (a *actor) close() bool {
	a.mailMu.Lock()
	defer a.mailMu.Unlock()
	if len(a.mail) > 0 {
		return false
	}
	a.closed = true
	return true
}

// ack is called by the store's writer for every checkpoint.
func (a *actor) ack(err error) {
	if err != nil {
		a.mailMu.Lock()
		if a.rejected == nil {
			// Those before it are durable, whether or not the run has heard of it.
			a.rejected, a.good = err, a.acked.Load()
		}
		a.mailMu.Unlock()
		a.acked.Add(1)
		a.nudge()
		return
	}
	if a.acked.Add(1) >= a.wakeAt.Load() {
		a.nudge()
	}
}

func (a *actor) unacked() int64 { return a.sent - a.acked.Load() }

// ahead is how many checkpoints of the run may be on their way to the disk. The
// runs that work share what keeps the store busy.
func (a *actor) ahead() int64 {
	return min(maxUnacked, max(minUnacked, allUnacked/max(1, a.e.sched.atWork.Load())))
}

// loop is the run's goroutine.
func (a *actor) loop() {
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
		if a.broken && a.retryNow.Swap(false) {
			a.again()
		}
		if !a.broken {
			for a.batch = a.take(); len(a.batch) > 0; a.batch = a.batch[1:] {
				a.handle(a.batch[0])
			}
			a.advance()
			a.freeNodes()
			a.putDown()
			a.flush()
			a.handOver()
		} else if a.isStopping() {
			a.giveUp(domain.Errorf(domain.CodeUnavailable, "the store does not accept checkpoints"))
			return
		}
		if a.dropped || a.idle() && a.e.evict(a) {
			return
		}
		target := a.target()
		a.wakeAt.Store(target)
		if a.acked.Load() >= target {
			continue
		}
		<-a.wake
	}
}

// putDown records that a run was left at rest by a clean shutdown, so that the
// next start does not take it for a crash.
func (a *actor) putDown() {
	if a.stopping && len(a.running) == 0 && !a.ended && !a.s.CleanStop && a.run.Status == domain.RunRunning {
		a.verbRow(runstate.VerbDecision{Verb: runstate.VerbStop}, domain.System.Name, "kairosd was stopped")
	}
}

// target is the answer of the store that the loop waits for.
func (a *actor) target() int64 {
	ahead := a.ahead()
	switch {
	case a.broken:
		return math.MaxInt64 // again is tied to time, not to answers
	case a.isRefused():
		return a.sent // the rest is rejected too
	case len(a.deferred) > 0 && a.deferred[0].index > 0:
		return a.deferred[0].index
	case a.unacked() >= ahead:
		return a.sent - ahead/2
	case len(a.running) == 0 && a.sent > a.answered:
		return a.sent
	}
	return math.MaxInt64
}

// idle reports whether the run needs no goroutine: it is final, or waits.
func (a *actor) idle() bool {
	if len(a.running) > 0 || a.acked.Load() < a.sent || len(a.deferred) > 0 || a.broken {
		return false
	}
	if a.ended || a.stopping {
		return true
	}
	// With a ticket in the queue the scheduler brings the run back; a node slot
	// that was promised to this actor must find it.
	return !a.waitingNode && (a.waitingSlot || a.peek() == nil || a.blocked())
}

// blocked reports whether nothing may start.
func (a *actor) blocked() bool { return a.stopping || a.barred() }

// barred is blocked for a reason that outlives a restart.
func (a *actor) barred() bool {
	return a.s.Paused || a.s.Held || a.s.Quarantined || a.e.opts.Safe || a.budget != "" || a.s.Budget != nil || a.ended || a.early() || a.prog.Replans && a.s.Replanning() != nil
}

// early reports whether the run may not start yet.
func (a *actor) early() bool {
	return a.run.StartedAt.IsZero() && !a.run.StartAt.IsZero() && a.run.StartAt.After(a.e.now())
}

func (a *actor) isStopping() bool {
	if a.stopping {
		return true
	}
	a.mailMu.Lock()
	defer a.mailMu.Unlock()
	for _, m := range a.mail {
		if _, ok := m.(stopMsg); ok {
			a.stopping = true
		}
	}
	return a.stopping
}

// load reads the run and folds its journal; what was in flight when the daemon
// died is settled by its effect class (SPEC 4.1).
func (a *actor) load() error {
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
		if journal, err = a.e.journal(ctx, a.run); err != nil {
			return err
		}
	}
	s, err := a.e.foldRun(ctx, p, a.run, input, journal, false)
	if err != nil {
		return err
	}
	a.s, a.fence = s, s.Seq
	a.requeue()
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

// requeue queues everything of the state that may start.
func (a *actor) requeue() {
	a.queue = nil
	for _, w := range a.s.OpenSteps() {
		if w.Phase == runstate.PhaseReady || w.Phase == runstate.PhaseWaiting && w.Reason == domain.WaitRetry {
			a.queue = append(a.queue, w.StepKey)
		}
	}
	for _, v := range a.s.OpenForeach() {
		a.queue = append(a.queue, runstate.StepKey{VisitKey: v, Item: runstate.NoItem})
	}
	a.s.NewlyReady = nil
}

// unrunnable ends a run whose plan cannot be compiled here.
func (a *actor) unrunnable(ctx context.Context, cause error) error {
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
	a.e.changed(a.id)
	return cause
}

func (a *actor) concurrencyKey() string {
	if a.run.Concurrency == nil {
		return ""
	}
	return a.run.Concurrency.Key
}

// giveUp answers everything that waits and leaves the run as it is stored.
func (a *actor) giveUp(err error) {
	a.e.log.Error("run cannot be executed", "run_id", a.id, "err", err)
	a.dropped = true
	for _, d := range a.deferred {
		d.fn(err)
	}
	a.deferred = nil
	a.dismiss(a.batch, func(m answerable) { m.answer(err) }) //seed:dismiss
	for !a.e.evict(a) {
		a.dismiss(a.take(), func(m answerable) { m.answer(err) })
	}
}

// dismiss deals with messages that will not be handled: end gives back the slots
// that they bring, and those who wait are answered.
func (a *actor) dismiss(mail []any, answer func(answerable)) {
	for _, m := range mail {
		switch m := m.(type) {
		case slotMsg:
			if a.e.sched.holds(a.id, m.token) {
				a.slot = m.token
			}
		case nodeSlotMsg:
			a.nodeCredit++
		case answerable:
			answer(m)
		}
	}
}

// reply answers whoever waits for one answer; a second is of no interest.
func reply(c chan<- error, err error) {
	select {
	case c <- err:
	default:
	}
}

// end gives back what the actor holds.
func (a *actor) end() {
	for _, t := range a.running {
		t.cancel(ErrFenced)
		a.nodeCredit++ //seed:return-slot
	}
	if a.deadline != nil {
		a.deadline.Stop()
	}
	for range a.nodeCredit {
		a.e.sched.releaseNode()
	}
	if a.slot != 0 {
		a.e.sched.release(a.id, a.slot)
	}
	close(a.gone)
}

// durable runs what waited for checkpoints that are durable now, and deals with
// rejected ones.
func (a *actor) durable() {
	acked := a.acked.Load()
	good, err := a.refused()
	if err != nil {
		acked = good
	}
	if n := acked - a.answered; n > 0 {
		a.inflight = a.inflight[n:]
		a.answered, a.conflicts, a.backoff = acked, 0, 0
	}
	for len(a.deferred) > 0 && a.deferred[0].index > 0 && a.deferred[0].index <= acked {
		d := a.deferred[0]
		a.deferred = a.deferred[1:]
		d.fn(nil)
	}
	if err != nil && !a.broken && a.acked.Load() >= a.sent { // the rest is rejected too; it is waited for
		a.reject(err)
	}
}

// refused is the first rejection since the last hand-over, and how many
// checkpoints are durable then.
func (a *actor) refused() (good int64, err error) {
	a.mailMu.Lock()
	defer a.mailMu.Unlock()
	return a.good, a.rejected
}

func (a *actor) isRefused() bool {
	_, err := a.refused()
	return err != nil
}

// reject deals with a rejected checkpoint: everything after the last durable
// row is void (ruling 20).
func (a *actor) reject(err error) {
	code := domain.CodeOf(err)
	if code == domain.CodeConflict || code == domain.CodeStale {
		a.refold(err)
		return
	}
	a.e.log.Error("checkpoint rejected", "run_id", a.id, "seq", a.fence, "err", err)
	if code == domain.CodeUnavailable || code == domain.CodeInternal && a.isStopping() {
		a.giveUp(err)
		return
	}
	// Nothing is lost: the same checkpoints are handed over again, in order,
	// when the store may have recovered (space, a passing I/O error).
	a.broken = true
	a.backoff = min(max(2*a.backoff, time.Second), 30*time.Second)
	time.AfterFunc(a.backoff, func() { a.retryNow.Store(true); a.nudge() })
}

// refold reads the run again after a lost race. If another writer has moved the
// run, this engine yields it: one wins.
func (a *actor) refold(cause error) {
	a.conflicts++
	fenced := domain.Errorf(domain.CodeConflict, "run %s was changed by someone else: %w", a.id, cause)
	for _, d := range a.deferred {
		d.fn(fenced)
	}
	a.deferred = nil
	r, err := a.e.store.Run(context.WithoutCancel(a.e.base), a.id)
	durable := a.fence
	if len(a.inflight) > 0 {
		durable = a.inflight[0].Fence
	}
	if err != nil || r.LastSeq != durable || a.conflicts > 3 {
		a.giveUp(fenced)
		return
	}
	for k, t := range a.running {
		t.cancel(ErrFenced)
		delete(a.running, k)
		a.nodeCredit++
	}
	a.mailMu.Lock()
	a.rejected = nil
	a.mailMu.Unlock()
	a.inflight, a.next, a.hasFinal, a.chain = nil, domain.Checkpoint{}, false, new(domain.Chain)
	a.noted, a.reserved = nil, nil
	a.answered = a.sent
	a.budget = ""
	if err := a.load(); err != nil && !a.setAside(err) {
		a.giveUp(err)
	}
}

// again hands the void checkpoints over once more.
func (a *actor) again() {
	a.mailMu.Lock()
	a.rejected = nil
	a.mailMu.Unlock()
	a.broken, a.chain = false, new(domain.Chain)
	for i := range a.inflight {
		a.inflight[i].Chain = a.chain
	}
	a.handed = a.sent - int64(len(a.inflight))
	a.acked.Store(a.handed)
	a.handOver()
}
