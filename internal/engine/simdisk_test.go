package engine_test

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store"
)

// order puts what the engine asks of the store in an order that the seed
// chooses: one request at a time, and the next only when nothing moves any more.
// Goroutines therefore never race for what matters: the same seed lives the same
// life.
type order struct {
	name func(run string) string
	rng  *rand.Rand
	wake chan struct{}
	stop chan struct{}
	over chan struct{}
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
	run    string
	number int
	do     func(done func())
}

func newOrder(name func(string) string, seed uint64) *order {
	o := &order{name: name, rng: rand.New(rand.NewPCG(seed, 9)), wake: make(chan struct{}, 1), stop: make(chan struct{}), over: make(chan struct{}), short: map[string]bool{}}
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
			time.Sleep(time.Microsecond) // in virtual time: until nothing else moves
			do := o.pick()
			done := make(chan struct{})
			do(func() { close(done) })
			<-done
		}
	}
}

// pick takes the first request of some run.
func (o *order) pick() func(func()) {
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
	do := o.pending[i].do
	o.pending = slices.Delete(o.pending, i, i+1)
	return do
}

func (o *order) submit(run string, do func(done func())) {
	o.mu.Lock()
	o.arrived++
	o.pending = append(o.pending, request{run, o.arrived, do})
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

// aside lets reads through at once.
func (o *order) aside(free bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.free = free
}

func (o *order) turn(run string) {
	o.mu.Lock()
	free := o.free
	o.mu.Unlock()
	if free {
		return
	}
	turn := make(chan struct{})
	o.submit(run, func(done func()) { close(turn); done() })
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

func (s watched) Run(ctx context.Context, id string) (kairos.Run, error) {
	s.o.turn(id)
	return s.Store.Run(ctx, id)
}

func (s watched) Journal(ctx context.Context, id string, after int64) ([]kairos.Entry, error) {
	s.o.turn(id)
	return s.Store.Journal(ctx, id, after)
}

func (s watched) CreateRun(ctx context.Context, n kairos.NewRun) (run kairos.Run, created bool, err error) {
	n = s.w.baptise(n)
	s.o.turn(n.ID)
	run, created, err = s.Store.CreateRun(ctx, n)
	if err == nil && created {
		s.w.acknowledged(run.ID, 0, n.Entries)
	}
	return run, created, err
}

func (s watched) Unfinished(ctx context.Context) ([]kairos.Run, error) {
	list, err := s.Store.Unfinished(ctx)
	for i := range list {
		if s.w.mistake == mistakeTimer && list[i].WaitReason == kairos.WaitTimer {
			list[i].DueAt = time.Time{}
		}
	}
	return list, err
}

// space reports whether the disk takes the run's next checkpoint. It is asked by
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

func (s watched) Enqueue(list []kairos.Checkpoint, done func(error)) {
	for _, c := range list {
		s.enqueue(c, done)
	}
}

func (s watched) enqueue(c kairos.Checkpoint, done func(error)) {
	s.o.submit(c.Run, func(over func()) {
		if !c.Chain.Broken() && !s.o.space(c.Run) {
			s.w.refused++
			c.Chain.Break()
			done(kairos.Errorf(kairos.CodeNoSpace, "the disk is full"))
			over()
			return
		}
		if s.w.mistake == mistakeAck {
			s.w.acknowledged(c.Run, c.Fence, c.Entries)
		}
		s.Store.Enqueue([]kairos.Checkpoint{c}, func(err error) {
			if err == nil {
				s.w.acknowledged(c.Run, c.Fence, c.Entries)
			}
			done(err)
			over()
		})
	})
}

func (s watched) Commit(ctx context.Context, c kairos.Checkpoint) error {
	s.o.turn(c.Run)
	err := s.Store.Commit(ctx, c)
	if err == nil {
		s.w.acknowledged(c.Run, c.Fence, c.Entries)
	}
	return err
}
