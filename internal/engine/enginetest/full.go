package enginetest

import (
	"sync"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Full is a store on a disk that is full once: after n checkpoints, it rejects one and all
// checkpoints that the run has handed over after it.
type Full struct {
	*store.Store
	mu   sync.Mutex
	left int
}

// NewFull returns a store that accepts n checkpoints before the rejected one.
func NewFull(s *store.Store, n int) *Full { return &Full{Store: s, left: n} }

// Refused reports whether the disk has been full.
func (f *Full) Refused() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left < 0
}

// Enqueue stores the checkpoints for which there is space, and then answers for the whole list, so
// that a run learns of stored and rejected checkpoints at the same time.
func (f *Full) Enqueue(list []domain.Checkpoint, done func(error)) {
	n := f.take(list)
	stored := append([]domain.Checkpoint(nil), list[:n]...)
	answers := make(chan error, n)
	if n > 0 {
		for i := range stored {
			stored[i].Chain = nil // the rejected checkpoint must not void those before it
		}
		f.Store.Enqueue(stored, func(err error) { answers <- err })
	}
	results := make([]error, 0, n)
	for range n {
		results = append(results, <-answers)
	}
	for _, err := range results {
		done(err)
	}
	for range len(list) - n {
		done(domain.Errorf(domain.CodeNoSpace, "commit: the disk is full"))
	}
}

// take returns the number of checkpoints of the list for which there is space.
func (f *Full) take(list []domain.Checkpoint) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch n := f.left; {
	case list[0].Chain.Broken():
		return 0
	case n >= 0 && n < len(list):
		list[0].Chain.Break()
		f.left = -1
		return n
	case n >= 0:
		f.left -= len(list)
	}
	return len(list)
}
