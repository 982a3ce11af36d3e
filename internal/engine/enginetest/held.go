package enginetest

import (
	"slices"
	"sync"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Held is a store that delays checkpoints on request. The engine has handed them over, and gets no
// answer yet.
type Held struct {
	*store.Store
	// Arrived receives the runs whose checkpoints are delayed.
	Arrived chan string

	mu      sync.Mutex
	holding bool
	kept    []func()
}

// NewHeld returns a store that delays nothing until HoldBack.
func NewHeld(s *store.Store) *Held { return &Held{Store: s, Arrived: make(chan string, 1000)} }

// HoldBack delays the checkpoints that are handed over from now on.
func (h *Held) HoldBack() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holding = true
}

// Release stores the delayed checkpoints in their order.
func (h *Held) Release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holding = false
	for _, store := range h.kept {
		store()
	}
	h.kept = nil
}

// Enqueue stores the checkpoints, or delays them.
func (h *Held) Enqueue(list []domain.Checkpoint, done func(error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.holding {
		h.Store.Enqueue(list, done)
		return
	}
	list = slices.Clone(list)
	h.kept = append(h.kept, func() { h.Store.Enqueue(list, done) })
	h.Arrived <- list[0].Run
}
