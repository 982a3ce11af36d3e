package engine

import (
	"container/heap"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// timers is the one heap of due times of all runs: a waiting run costs an entry
// here and no goroutine.
type timers struct {
	now  func() time.Time
	fire func(run string)
	// look is how long a clock that jumps forwards may go unnoticed: timers are due
	// by the clock, waiting is not.
	look time.Duration

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

func newTimers(now func() time.Time, fire func(run string)) *timers {
	return &timers{
		now:  now,
		fire: fire,
		look: time.Second,
		due:  map[string]*alarm{},
		wake: make(chan struct{}, 1),
		done: make(chan struct{}),
	}
}

// set makes the run due at a time, replacing what was set before; the zero time
// removes it.
func (t *timers) set(run string, at time.Time) {
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

func (t *timers) loop() {
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

// fireDue fires what is due and returns the wait until it is to be called again,
// if nothing is set until then.
func (t *timers) fireDue() time.Duration {
	var due []string
	wait := time.Hour
	t.mu.Lock()
	now := t.now()
	for len(t.heap) > 0 {
		if left := t.heap[0].at.Sub(now); left > 0 {
			wait = min(t.look, left)
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

func (t *timers) stop() { t.once.Do(func() { close(t.done) }) }

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
