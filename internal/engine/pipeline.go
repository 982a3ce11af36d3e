package engine

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
)

// pipeline puts the checkpoints of one run together, hands them to the store in order,
// and runs what must not happen before one of them is durable. It counts checkpoints: a
// run may have several on their way to the disk.
//
// All methods but ack are called by the runner only.
type pipeline struct {
	store interface {
		Enqueue(checkpoints []domain.Checkpoint, ack func(error))
	}
	run     string
	nudge   func()                     // wakes the runner
	execute func(runstate.Task, error) // executes a task of the machine, or learns that it must not be

	mu       sync.Mutex
	rejected error // guarded by mu: first rejection since the last hand-over; set by ack, cleared by the runner
	good     int64 // guarded by mu: checkpoints accepted before it; set by ack, read by the runner

	acked    atomic.Int64 // answered by the store, either way: written by ack, and by again while none is in flight
	wakeAt   atomic.Int64 // answer to wake the runner at: written by the runner, read by ack
	retryNow atomic.Bool  // rejected checkpoints are due again: set by a timer, taken by the runner

	// The fields below belong to the runner's goroutine.
	fence     int64 // sequence number after the last completed checkpoint
	chain     *domain.Chain
	completed int64 // checkpoints completed
	handed    int64 // of those, given to the store
	answered  int64 // of those, durable and dealt with
	inflight  []domain.Checkpoint
	deferred  []deferred // in the order of their checkpoints
	broken    bool       // rejected; checkpoints are handed over again later
	conflicts int        // lost races since the last durable checkpoint
	backoff   time.Duration
}

// deferred is what must not happen before a checkpoint is durable.
type deferred struct {
	index int64 // of the checkpoint
	task  runstate.Task
	fn    func(error) // nil: task is executed
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
			// Those before it are durable, whether or not the run has learned of it.
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

// unacked is how many completed checkpoints the store has not answered.
func (p *pipeline) unacked() int64 { return p.completed - p.acked.Load() }

// quiet reports whether nothing is on its way to the store and nothing waits for it.
func (p *pipeline) quiet() bool { return p.unacked() <= 0 && len(p.deferred) == 0 && !p.broken }

// target is the answer of the store that the runner waits for. ahead is how many
// checkpoints may be on their way; working: attempts are active.
func (p *pipeline) target(ahead int64, working bool) int64 {
	switch {
	case p.broken:
		return math.MaxInt64 // again is tied to time, not to answers
	case p.isRefused():
		return p.completed // the rest is rejected too
	case len(p.deferred) > 0 && p.deferred[0].index <= p.completed:
		return p.deferred[0].index
	case p.unacked() >= ahead:
		return p.completed - ahead/2
	case !working && p.completed > p.answered:
		return p.completed
	}
	return math.MaxInt64
}

// await asks ack to wake the runner at an answer; false: the store has given it already.
func (p *pipeline) await(target int64) bool {
	p.wakeAt.Store(target)
	return p.acked.Load() < target
}

// after ties fn to the checkpoint being put together: it is called with nil when that is
// durable, or with the error that prevents it.
func (p *pipeline) after(fn func(error)) {
	p.deferred = append(p.deferred, deferred{index: p.completed + 1, fn: fn})
}

// executeAfter ties a task to a checkpoint.
func (p *pipeline) executeAfter(index int64, t runstate.Task) {
	p.deferred = append(p.deferred, deferred{index: index, task: t})
}

// complete takes over a checkpoint that was put together.
func (p *pipeline) complete(c domain.Checkpoint) {
	c.Run, c.Fence, c.Chain = p.run, p.fence, p.chain
	p.fence += int64(len(c.Entries))
	p.completed++
	p.inflight = append(p.inflight, c)
}

// nothingToWrite reports that the checkpoint being put together is empty: what was tied to it
// needs no more than those before it.
func (p *pipeline) nothingToWrite() {
	for i := len(p.deferred) - 1; i >= 0 && p.deferred[i].index > p.completed; i-- {
		p.deferred[i].index = max(p.completed, 1)
	}
	if p.completed == 0 && len(p.deferred) > 0 {
		p.fail(nil)
	}
}

// handOver gives the store what was completed. What ends together is handed over
// together: a store that is given the first of a hundred checkpoints commits that one
// while the others are being put together.
func (p *pipeline) handOver() {
	if n := p.completed - p.handed; n > 0 {
		p.handed = p.completed
		p.store.Enqueue(p.inflight[len(p.inflight)-int(n):], p.ack)
	}
}

// durable runs what waited for checkpoints that are durable now. It returns a rejection
// that is to be dealt with.
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
	if err != nil && !p.broken && p.acked.Load() >= p.completed { // the rest is rejected too; it is waited for
		return err
	}
	return nil
}

// refused is the first rejection since the last hand-over, and how many checkpoints are
// durable then.
func (p *pipeline) refused() (good int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.good, p.rejected
}

func (p *pipeline) isRefused() bool {
	_, err := p.refused()
	return err != nil
}

// fail runs everything that waits for a checkpoint, with err.
func (p *pipeline) fail(err error) {
	list := p.deferred
	p.deferred = nil
	for _, d := range list {
		p.perform(d, err)
	}
}

// durableSeq is the sequence number of the last durable row, as far as it was reported to the run.
func (p *pipeline) durableSeq() int64 {
	if len(p.inflight) > 0 {
		return p.inflight[0].Fence
	}
	return p.fence
}

// retryLater hands the rejected checkpoints over again after a delay, in order: the store
// may have recovered by then. Nothing is lost.
func (p *pipeline) retryLater() {
	p.broken = true
	p.backoff = min(max(2*p.backoff, time.Second), 30*time.Second)
	time.AfterFunc(p.backoff, func() { p.retryNow.Store(true); p.nudge() })
}

// again hands the rejected checkpoints over once more.
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

// reset forgets every checkpoint that is not durable. The runner then loads the run again,
// which sets the fence.
func (p *pipeline) reset() {
	p.accept()
	p.inflight, p.chain = nil, new(domain.Chain)
	p.answered = p.completed
}

// accept clears a rejection that was dealt with.
func (p *pipeline) accept() {
	p.mu.Lock()
	p.rejected = nil
	p.mu.Unlock()
}
