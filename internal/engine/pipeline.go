package engine

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
)

// pipeline collects the checkpoints of one run, passes them to the store in order, and runs what
// must not happen before one of them is durable. Several checkpoints of a run may be in the store's
// queue.
//
// Only the runner calls its methods, except ack.
type pipeline struct {
	store interface {
		Enqueue(checkpoints []domain.Checkpoint, ack func(error))
	}
	run     string
	nudge   func()                     // wakes the runner
	execute func(runstate.Task, error) // executes a task of the machine, or cancels it if the error is not nil

	mu       sync.Mutex
	rejected error // guarded by mu: first rejection since the last handOver; set by ack, cleared by the runner
	good     int64 // guarded by mu: checkpoints accepted before it; set by ack, read by the runner

	acked    atomic.Int64 // number of answers of the store: written by ack, and by again while none is in flight
	wakeAt   atomic.Int64 // number of answers at which to wake the runner: written by the runner, read by ack
	retryNow atomic.Bool  // rejected checkpoints are due again: set by a timer, read by the runner

	// The fields below belong to the runner's goroutine.
	fence     int64 // sequence number after the last completed checkpoint
	chain     *domain.Chain
	completed int64 // checkpoints completed
	handed    int64 // number of these that the store has
	answered  int64 // number of these that are durable and handled
	inflight  []domain.Checkpoint
	deferred  []deferred // in the order of their checkpoints
	broken    bool       // rejected; checkpoints are passed to the store again later
	conflicts int        // lost races since the last durable checkpoint
	backoff   time.Duration
}

// deferred is an action that must not happen before a checkpoint is durable.
type deferred struct {
	index int64 // of the checkpoint
	task  runstate.Task
	fn    func(error) // if nil, task is executed
}

func (p *pipeline) perform(d deferred, err error) {
	if d.fn != nil {
		d.fn(err)
		return
	}
	p.execute(d.task, err)
}

// open prepares the pipeline of a run.
func (p *pipeline) open(store Store, run string, nudge func(), execute func(runstate.Task, error)) {
	p.store, p.run, p.nudge, p.execute, p.chain = store, run, nudge, execute, new(domain.Chain)
	p.wakeAt.Store(math.MaxInt64)
}

// ack is called by the store's writer for every checkpoint.
func (p *pipeline) ack(err error) {
	if err != nil {
		p.mu.Lock()
		if p.rejected == nil {
			// Those before it are durable, whether or not the run has been notified.
			p.rejected, p.good = err, p.acked.Load()
		}
		p.mu.Unlock()
		p.acked.Add(1)
		p.nudge()
		return
	}
	if p.acked.Add(1) >= p.wakeAt.Load() {
		p.nudge()
	}
}

// unacked returns the number of completed checkpoints without an answer of the store.
func (p *pipeline) unacked() int64 { return p.completed - p.acked.Load() }

// idle reports whether no checkpoint and no deferred action is waiting.
func (p *pipeline) idle() bool { return p.unacked() <= 0 && len(p.deferred) == 0 && !p.broken }

// target returns the number of answers that the runner waits for. ahead is the number of
// checkpoints that may be waiting. working reports whether attempts are active.
func (p *pipeline) target(ahead int64, working bool) int64 {
	switch {
	case p.broken:
		return math.MaxInt64 // again depends on a timer, not on answers
	case p.isRefused():
		return p.completed // the others are rejected too
	case len(p.deferred) > 0 && p.deferred[0].index <= p.completed:
		return p.deferred[0].index
	case p.unacked() >= ahead:
		return p.completed - ahead/2
	case !working && p.completed > p.answered:
		return p.completed
	}
	return math.MaxInt64
}

// await makes ack wake the runner at a number of answers. It returns false if that number has been
// reached.
func (p *pipeline) await(target int64) bool {
	p.wakeAt.Store(target)
	return p.acked.Load() < target
}

// after ties fn to the current checkpoint. fn is called with nil when it is durable, or with the
// error that prevents that.
func (p *pipeline) after(fn func(error)) {
	p.deferred = append(p.deferred, deferred{index: p.completed + 1, fn: fn})
}

// executeAfter ties a task to a checkpoint.
func (p *pipeline) executeAfter(index int64, t runstate.Task) {
	p.deferred = append(p.deferred, deferred{index: index, task: t})
}

// complete adds a completed checkpoint.
func (p *pipeline) complete(c domain.Checkpoint) {
	c.Run, c.Fence, c.Chain = p.run, p.fence, p.chain
	p.fence += int64(len(c.Entries))
	p.completed++
	p.inflight = append(p.inflight, c)
}

// nothingToWrite reports that the current checkpoint is empty. Actions tied to it only need the
// previous checkpoints.
func (p *pipeline) nothingToWrite() {
	for i := len(p.deferred) - 1; i >= 0 && p.deferred[i].index > p.completed; i-- {
		p.deferred[i].index = max(p.completed, 1)
	}
	if p.completed == 0 && len(p.deferred) > 0 {
		p.fail(nil)
	}
}

// handOver passes the completed checkpoints to the store together. If the store got the first of a
// hundred checkpoints alone, it would commit that one while the others are still being built.
func (p *pipeline) handOver() {
	if n := p.completed - p.handed; n > 0 {
		p.handed = p.completed
		p.store.Enqueue(p.inflight[len(p.inflight)-int(n):], p.ack)
	}
}

// durable runs the actions of checkpoints that are durable now. It returns a rejection that must be
// handled.
func (p *pipeline) durable() error {
	acked := p.acked.Load()
	good, err := p.refused()
	if err != nil {
		acked = good
	}
	if n := acked - p.answered; n > 0 {
		p.inflight = p.inflight[n:]
		p.answered, p.conflicts, p.backoff = acked, 0, 0
	}
	for len(p.deferred) > 0 && p.deferred[0].index <= acked {
		d := p.deferred[0]
		p.deferred = p.deferred[1:]
		p.perform(d, nil)
	}
	if err != nil && !p.broken && p.acked.Load() >= p.completed { // the others are rejected too, so it waits for them
		return err
	}
	return nil
}

// refused returns the first rejection since the last handOver, and the number of durable
// checkpoints at that time.
func (p *pipeline) refused() (good int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.good, p.rejected
}

func (p *pipeline) isRefused() bool {
	_, err := p.refused()
	return err != nil
}

// fail runs all deferred actions with err.
func (p *pipeline) fail(err error) {
	list := p.deferred
	p.deferred = nil
	for _, d := range list {
		p.perform(d, err)
	}
}

// durableSeq returns the sequence number of the last row that is known to be durable.
func (p *pipeline) durableSeq() int64 {
	if len(p.inflight) > 0 {
		return p.inflight[0].Fence
	}
	return p.fence
}

// retryLater passes the rejected checkpoints to the store again after a delay, in order, because
// the store may have recovered by then. Nothing is lost.
func (p *pipeline) retryLater() {
	p.broken = true
	p.backoff = min(max(2*p.backoff, time.Second), 30*time.Second)
	time.AfterFunc(p.backoff, func() { p.retryNow.Store(true); p.nudge() })
}

// again passes the rejected checkpoints to the store.
func (p *pipeline) again() {
	p.accept()
	p.broken, p.chain = false, new(domain.Chain)
	for i := range p.inflight {
		p.inflight[i].Chain = p.chain
	}
	p.handed = p.completed - int64(len(p.inflight))
	p.acked.Store(p.handed)
	p.handOver()
}

// reset drops all checkpoints that are not durable. The runner then loads the run again, which sets
// the fence.
func (p *pipeline) reset() {
	p.accept()
	p.inflight, p.chain = nil, new(domain.Chain)
	p.answered = p.completed
}

// accept clears a handled rejection.
func (p *pipeline) accept() {
	p.mu.Lock()
	p.rejected = nil
	p.mu.Unlock()
}
