package engine_test

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// order executes the engine's requests to the store in an order that the seed determines: one at a
// time, and the next only when all goroutines are idle. Races between goroutines therefore cannot
// affect the result, and the same seed always leads to the same events.
type order struct {
	name  func(run string) string
	store func([]request) // stores checkpoints of one run
	rng   *rand.Rand
	turns moments
	wake  chan struct{}
	stop  chan struct{}
	over  chan struct{}
	// If fills is true, the simulated disk is sometimes full: the next full checkpoints are
	// rejected. Their runs hand them over again.
	fills bool
	full  int

	mu      sync.Mutex
	short   map[string]bool // runs with a rejected checkpoint
	arrived int
	pending []request
	free    bool
}

// request is a read or a write of one run. Requests of one run keep their order.
type request struct {
	run        string
	number     int
	kind       requestKind
	turn       chan struct{} // closed when the request may continue; nil for a checkpoint
	checkpoint domain.Checkpoint
	done       func(error)
}

type requestKind int

const (
	aWrite      requestKind = iota // executed alone
	aRead                          // executed with the reads that wait at the same time
	aCheckpoint                    // executed with the checkpoints that were handed over after it
)

// moments are times at which all goroutines are idle. The world and its disk act only at such
// times, and never at the same one, so that the events of a timer have been handled before the next
// action.
type moments chan struct{}

// next waits for the next moment that is an offset after a multiple of a step.
func (m moments) next(step, offset time.Duration) {
	now := time.Now()
	at := now.Truncate(step).Add(offset)
	if !at.After(now) {
		at = at.Add(step)
	}
	time.Sleep(at.Sub(now))
	m <- struct{}{} // panics if two goroutines wait at once
	synctest.Wait()
	<-m
}

func newOrder(name func(string) string, turns moments, seed uint64) *order {
	o := &order{
		name:  name,
		turns: turns,
		rng:   rand.New(rand.NewPCG(seed, 9)),
		wake:  make(chan struct{}, 1),
		stop:  make(chan struct{}),
		over:  make(chan struct{}),
		short: map[string]bool{},
	}
	o.fills = o.rng.IntN(2) == 0
	go o.loop()
	return o
}

func (o *order) loop() {
	defer close(o.over)
	for {
		select {
		case <-o.wake:
		case <-o.stop:
			return
		}
		for o.busy() {
			o.turns.next(time.Microsecond, 250)
			list := o.pick()
			if list[0].kind == aCheckpoint {
				o.store(list)
				continue
			}
			for _, r := range list {
				close(r.turn)
			}
		}
	}
}

// pick takes the first request of some run, and the requests that are executed with it. The seed
// does not determine how a runner divides its work, or which of two readers is first.
func (o *order) pick() []request {
	o.mu.Lock()
	defer o.mu.Unlock()
	slices.SortFunc(o.pending, func(a, b request) int {
		return cmp.Or(cmp.Compare(o.name(a.run), o.name(b.run)), cmp.Compare(a.number, b.number))
	})
	var first []int
	for i := range o.pending {
		if i == 0 || o.pending[i].run != o.pending[i-1].run {
			first = append(first, i)
		}
	}
	i := first[o.rng.IntN(len(first))]
	end := i + 1
	for first := o.pending[i]; first.kind != aWrite && end < len(o.pending) && o.pending[end].run == first.run &&
		o.pending[end].kind == first.kind; {
		end++
	}
	list := slices.Clone(o.pending[i:end])
	o.pending = slices.Delete(o.pending, i, end)
	return list
}

func (o *order) submit(r request) {
	o.mu.Lock()
	o.arrived++
	r.number = o.arrived
	o.pending = append(o.pending, r)
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// busy reports whether a request is waiting.
func (o *order) busy() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.pending) > 0
}

// suspend executes reads immediately.
func (o *order) suspend(free bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.free = free
}

func (o *order) turn(run string, kind requestKind) {
	o.mu.Lock()
	free := o.free
	o.mu.Unlock()
	if free {
		return
	}
	turn := make(chan struct{})
	o.submit(request{run: run, kind: kind, turn: turn})
	<-turn
}

func (o *order) close() {
	close(o.stop)
	<-o.over
}

// watched is the engine's view of the store. It orders requests and records results for the world.
type watched struct {
	*store.Store
	w *world
	o *order
}

func (s watched) Run(ctx context.Context, id string) (domain.Run, error) {
	if ctx.Value(unordered{}) == nil {
		s.o.turn(id, aRead)
	}
	return s.Store.Run(ctx, id)
}

func (s watched) Journal(ctx context.Context, id string, after int64) ([]domain.Entry, error) {
	if ctx.Value(unordered{}) == nil {
		s.o.turn(id, aRead)
	}
	return s.Store.Journal(ctx, id, after)
}

func (s watched) CreateRun(ctx context.Context, n domain.NewRun) (run domain.Run, created bool, err error) {
	n = s.w.assignID(n)
	s.o.turn(n.ID, aWrite)
	run, created, err = s.Store.CreateRun(ctx, n)
	if err == nil && created {
		s.w.acknowledged(run.ID, 0, n.Entries)
	}
	return run, created, err
}

func (s watched) Unfinished(ctx context.Context) ([]domain.Run, error) {
	list, err := s.Store.Unfinished(ctx)
	for i := range list {
		if s.w.mistake == mistakeTimer && list[i].WaitReason == domain.WaitTimer {
			list[i].DueAt = time.Time{}
		}
	}
	return list, err
}

// space reports whether the disk has space for the run's next checkpoint. Only the goroutine of the
// order calls it.
func (o *order) space(run string) bool {
	if o.full == 0 && o.fills && o.rng.IntN(20) == 0 {
		o.full = 1 + o.rng.IntN(6)
	}
	full := o.full > 0
	if full {
		o.full--
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.short[run] = full; !full {
		delete(o.short, run)
	}
	return !full
}

// waits returns a run that waits for space, or "".
func (o *order) waits() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	for run := range o.short {
		return run
	}
	return ""
}

func (s watched) Enqueue(list []domain.Checkpoint, done func(error)) {
	for _, c := range list {
		s.o.submit(request{run: c.Run, kind: aCheckpoint, checkpoint: c, done: done})
	}
}

// store stores checkpoints of one run together, if the disk has space.
func (s watched) store(list []request) {
	s.w.rush(s.o, list[0])
	if first := list[0]; !first.checkpoint.Chain.Broken() && !s.o.space(first.run) {
		s.w.refused++
		first.checkpoint.Chain.Break()
		first.done(domain.Errorf(domain.CodeNoSpace, "the disk is full"))
		list = list[1:]
	}
	checkpoints := make([]domain.Checkpoint, len(list))
	for i, r := range list {
		checkpoints[i] = r.checkpoint
		if s.w.mistake == mistakeAck {
			s.w.acknowledged(r.run, r.checkpoint.Fence, r.checkpoint.Entries)
		}
	}
	answers, over := 0, make(chan struct{}, len(list))
	s.Store.Enqueue(checkpoints, func(err error) {
		r := list[answers]
		answers++
		if err == nil {
			s.w.acknowledged(r.run, r.checkpoint.Fence, r.checkpoint.Entries)
		}
		r.done(err)
		over <- struct{}{}
	})
	for range list {
		<-over
	}
}

func (s watched) Commit(ctx context.Context, c domain.Checkpoint) error {
	s.o.turn(c.Run, aWrite)
	err := s.Store.Commit(ctx, c)
	if err == nil {
		s.w.acknowledged(c.Run, c.Fence, c.Entries)
	}
	return err
}
