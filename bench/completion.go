package main

import (
	"context"
	"strings"
	"sync"
)

// completion counts runs of a peer that have reached the end of their code. The clock of a peer
// stops there, before its last record is stored. The clock of kairosd stops when the end of every
// run is durable.
type completion struct {
	step func(run string, i int)

	mu   sync.Mutex
	seen map[string]bool
	left int
	done chan struct{}
}

func newCompletion(step func(string, int)) *completion {
	return &completion{step: step, seen: map[string]bool{}, done: make(chan struct{})}
}

// expect starts counting the runs of a shape.
func (c *completion) expect(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left, c.done = n, make(chan struct{})
	clear(c.seen)
	if n == 0 {
		close(c.done)
	}
}

// finished records the end of a run in the ledger as step -1, so that the process that continues
// finds the unfinished runs.
func (c *completion) finished(run string) {
	c.step(run, -1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen[run] {
		return
	}
	c.seen[run] = true
	if c.left--; c.left == 0 {
		close(c.done)
	}
}

func (c *completion) wait(ctx context.Context) error {
	c.mu.Lock()
	done := c.done
	c.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// unfinished counts the runs of a shape that a ledger does not list as finished.
func unfinished(ledger map[string]int, runs int) int {
	for line := range ledger {
		if strings.HasSuffix(line, "/-1") {
			runs--
		}
	}
	return runs
}

// resume reads the number of unfinished runs from the ledger of a killed process.
func (c *completion) resume(dir string) error {
	lines, _, err := counted(ledgerIn(dir))
	if err != nil {
		return err
	}
	c.expect(unfinished(lines, recovery.runs))
	for line := range lines {
		if run, ok := strings.CutSuffix(line, "/-1"); ok {
			c.seen[run] = true
		}
	}
	return nil
}
