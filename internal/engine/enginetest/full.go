package enginetest

import (
	"sync"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Full is a store on a disk that is full for one moment: after n checkpoints it
// refuses one, and all that the run had handed over behind it.
type Full struct {
	*store.Store
	mu   sync.Mutex
	left int
}

// NewFull lets n checkpoints through before the one that finds no space.
func NewFull(s *store.Store, n int) *Full { return &Full{Store: s, left: n} }

// Refused reports whether the disk has been full.
func (f *Full) Refused() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left < 0
}

// Enqueue stores what there is space for, and then answers for the whole list:
// a run learns of what was stored and of what was refused in the same moment.
func (f *Full) Enqueue(list []domain.Checkpoint, done func(error)) {
	n := f.take(list)
	stored := append([]domain.Checkpoint(nil), list[:n]...)
	answers := make(chan error, n)
	if n > 0 {
		for i := range stored {
			stored[i].Chain = nil // the refused link does not keep those before it from being written
		}
		f.Store.Enqueue(stored, func(err error) { answers <- err })
	}
	said := make([]error, 0, n)
	for range n {
		said = append(said, <-answers)
	}
	for _, err := range said {
		done(err)
	}
	for range len(list) - n {
		done(domain.Errorf(domain.CodeNoSpace, "commit: the disk is full"))
	}
}

// take is how many checkpoints of the list there is space for.
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
