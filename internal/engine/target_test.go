package engine

import (
	"errors"
	"math"
	"testing"
)

// A run whose checkpoint was rejected waits for the answers to those after it,
// and then for the time to hand them over again; it does not look for either
// again and again.
func TestARejectionIsWaitedOut(t *testing.T) {
	t.Parallel()
	a := newActor(&Engine{sched: newScheduler(1, 1, nil)}, "r")
	a.sent, a.handed = 4, 4
	a.deferred = []deferred{{index: 1, fn: func(error) {}}}
	if got := a.target(); got != 1 {
		t.Errorf("what waits for checkpoint 1 waits for answer %d", got)
	}
	a.ack(errors.New("no space"))
	if a.durable(); a.target() != 4 {
		t.Errorf("with three answers due it waits for answer %d", a.target())
	}
	a.broken = true
	if a.target() != math.MaxInt64 {
		t.Errorf("until it is time to try again it waits for answer %d", a.target())
	}
}
