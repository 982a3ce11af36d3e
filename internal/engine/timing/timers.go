package timing

import (
	"container/heap"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// Timers is a heap of the due times of all runs. A waiting run costs an entry and no goroutine.
type Timers struct {
	now  func() time.Time
	fire func(run string)
	// RecheckEvery is the maximum time until a forward jump of the clock is noticed, because timers depend
	// on the clock, and waiting does not.
	RecheckEvery time.Duration

	mu   sync.Mutex
	heap dueHeap
	due  map[string]*alarm
	wake chan struct{}
	done chan struct{}
	once sync.Once
}

type alarm struct {
	run   string
	at    time.Time
	index int
}

// NewTimers returns timers that call fire when a run is due.
func NewTimers(now func() time.Time, fire func(run string)) *Timers {
	return &Timers{
		now:          now,
		fire:         fire,
		RecheckEvery: time.Second,
		due:          map[string]*alarm{},
		wake:         make(chan struct{}, 1),
		done:         make(chan struct{}),
	}
}

// Set sets the time at which the run is due. It replaces an earlier time. The zero time removes it.
func (t *Timers) Set(run string, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.due[run]
	switch {
	case at.IsZero():
		if a != nil {
			heap.Remove(&t.heap, a.index)
			delete(t.due, run)
		}
		return
	case a == nil:
		a = &alarm{run: run, at: at}
		t.due[run] = a
		heap.Push(&t.heap, a)
	case a.at.Equal(at):
		return
	default:
		a.at = at
		heap.Fix(&t.heap, a.index)
	}
	if t.heap[0] == a {
		select {
		case t.wake <- struct{}{}:
		default:
		}
	}
}

// Loop fires timers until Stop.
func (t *Timers) Loop() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(t.fireDue())
		select {
		case <-timer.C:
		case <-t.wake:
		case <-t.done:
			return
		}
	}
}

// fireDue fires the due timers. It returns the time until the next call, unless a timer is set
// before.
func (t *Timers) fireDue() time.Duration {
	var due []string
	wait := time.Hour
	t.mu.Lock()
	now := t.now()
	for len(t.heap) > 0 {
		if left := t.heap[0].at.Sub(now); left > 0 {
			wait = min(t.RecheckEvery, left)
			break
		}
		a := heap.Pop(&t.heap).(*alarm)
		delete(t.due, a.run)
		due = append(due, a.run)
	}
	t.mu.Unlock()
	for _, run := range due {
		failpoint.Hit("timer.fire")
		t.fire(run)
	}
	return wait
}

// Done is closed by Stop.
func (t *Timers) Done() <-chan struct{} { return t.done }

// Stop ends Loop.
func (t *Timers) Stop() { t.once.Do(func() { close(t.done) }) }

type dueHeap []*alarm

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *dueHeap) Push(x any) { a := x.(*alarm); a.index = len(*h); *h = append(*h, a) }
func (h *dueHeap) Pop() any {
	old := *h
	a := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return a
}
