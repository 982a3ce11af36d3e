package enginetest

import (
	"context"
	"sync"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Cut is a store that fails after a number of checkpoints. Later checkpoints are rejected and never
// stored, as after a power cut.
type Cut struct {
	*store.Store
	mu   sync.Mutex
	left int
	dead chan struct{}
}

// NewCut returns a store that accepts n checkpoints.
func NewCut(s *store.Store, n int) *Cut { return &Cut{Store: s, left: n, dead: make(chan struct{})} }

// Dead is closed when the first checkpoint is rejected.
func (c *Cut) Dead() <-chan struct{} { return c.dead }

func (c *Cut) allow() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 {
		close(c.dead)
	}
	if c.left >= 0 {
		c.left--
	}
	return c.left >= 0
}

// Kill rejects all further checkpoints.
func (c *Cut) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left >= 0 {
		c.left = -1
		close(c.dead)
	}
}

func errCut() error { return domain.Errorf(domain.CodeUnavailable, "the power is gone") }

// Enqueue stores each checkpoint, or rejects it.
func (c *Cut) Enqueue(list []domain.Checkpoint, done func(error)) {
	for i := range list {
		if !c.allow() {
			done(errCut())
			continue
		}
		c.Store.Enqueue(list[i:i+1], done)
	}
}

// Commit stores the checkpoint, or rejects it.
func (c *Cut) Commit(ctx context.Context, cp domain.Checkpoint) error {
	if !c.allow() {
		return errCut()
	}
	return c.Store.Commit(ctx, cp)
}
