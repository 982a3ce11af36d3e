package engine

import (
	"errors"
	"math"
	"testing"
)

// After a rejected checkpoint, a run waits for the results of the later checkpoints, and then for
// the time of the next attempt. It does not poll.
func TestARejectedCheckpointIsRetried(t *testing.T) {
	t.Parallel()
	a := newRunner(&Engine{sched: newScheduler(1, 1, nil)}, "r")
	a.pipe.completed, a.pipe.handed = 4, 4
	a.pipe.deferred = []deferred{{index: 1, fn: func(error) {}}}
	if got := a.pipe.target(a.ahead(), false); got != 1 {
		t.Errorf("what waits for checkpoint 1 waits for answer %d", got)
	}
	a.pipe.ack(errors.New("no space"))
	if a.durable(); a.pipe.target(a.ahead(), false) != 4 {
		t.Errorf("with three answers due it waits for answer %d", a.pipe.target(a.ahead(), false))
	}
	a.pipe.broken = true
	if a.pipe.target(a.ahead(), false) != math.MaxInt64 {
		t.Errorf("until it is time to try again it waits for answer %d", a.pipe.target(a.ahead(), false))
	}
}

// A grant that arrives after the run has taken or released the slot gives no second slot. Another
// run may have it.
func TestAStaleGrantGivesNoSlot(t *testing.T) {
	t.Parallel()
	var granted []slotGrant
	e := &Engine{sched: newScheduler(1, 1, func(g slotGrant) { granted = append(granted, g) })}
	one, two := &ticket{run: "one"}, &ticket{run: "two"}
	e.sched.enqueue(one)
	if len(granted) != 1 {
		t.Fatalf("granted %v", granted)
	}
	a := newRunner(e, "one") // another message starts a runner that does not know of the grant
	a.slots.token = e.sched.try(one)
	a.slots.yield()
	if e.sched.try(two) == 0 {
		t.Fatal("the slot was given back, and the second run does not get it")
	}
	slotMsg{granted[0].token}.apply(a)
	if a.slots.token != 0 {
		t.Error("two runs hold the only slot")
	}
	e.sched.release("one", granted[0].token)
	if l := e.sched.load(); l.Working != 1 {
		t.Errorf("%d runs work after a stale release, want 1", l.Working)
	}
}

// A runner that ends after another one has loaded its run does not release the slot of the other
// one.
func TestAnOldActorReleasesItsOwnSlot(t *testing.T) {
	t.Parallel()
	s := newScheduler(1, 1, func(slotGrant) {})
	one := &ticket{run: "one"}
	before, now := s.try(one), s.try(one)
	s.release("one", before)
	if !s.holds("one", now) || s.try(&ticket{run: "two"}) != 0 {
		t.Error("two runs hold the only slot")
	}
}
