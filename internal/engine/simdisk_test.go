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

// order puts what the engine asks of the store in an order that the seed
// chooses: one request at a time, and the next only when nothing moves any more.
// Goroutines therefore never race for what matters: the same seed lives the same
// life.
type order struct {
	name  func(run string) string
	store func([]request) // checkpoints of one run
	rng   *rand.Rand
	turns moments
	wake  chan struct{}
	stop  chan struct{}
	over  chan struct{}
	// The disk of some worlds is full at times: of full checkpoints to come none
	// finds space. Runs of which one was refused hand it over again.
	fills bool
	full  int

	mu      sync.Mutex
	short   map[string]bool // runs of which a checkpoint was refused
	arrived int
	pending []request
	free    bool
}

// request is a read or a write of one run; those of one run keep their order.
type request struct {
	run        string
	number     int
	kind       requestKind
	turn       chan struct{} // closed when it may continue; a checkpoint has none
	checkpoint domain.Checkpoint
	done       func(error)
}

type requestKind int

const (
	aWrite      requestKind = iota // takes its turn alone
	aRead                          // with those that wait beside it
	aCheckpoint                    // with those that were handed over after it
)

// moments are when nothing moves. The world and its disk act in such moments
// only, and never in the same: what a timer set going at that time is over then.
type moments chan struct{}

// next returns in the next moment that is an offset past a multiple of a step.
func (m moments) next(step, offset time.Duration) {
	now := time.Now()
	at := now.Truncate(step).Add(offset)
	if !at.After(now) {
		at = at.Add(step)
	}
	time.Sleep(at.Sub(now))
	m <- struct{}{} // two may not wait at once
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

// pick takes the first request of some run, and with it what waits beside it.
// How a runner divides what it learns at one time, and which of two that look
// at a run is the first, is not decided by the seed.
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

// busy: some request has not had its turn.
func (o *order) busy() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.pending) > 0
}

// suspend lets reads through at once.
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

// watched is the store as the engine sees it: in order, and the world listens.
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

// space reports whether the disk takes the run's next checkpoint. It is called by
// the order's goroutine only.
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

// waits is a run that waits for space; empty: none.
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
