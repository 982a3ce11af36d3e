package engine

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// slots are the slots that a run holds: one for the run, and one for each attempt. Only the
// goroutine of the runner uses it. The scheduler has its own lock.
type slots struct {
	sched *scheduler
	run   string
	// granted notifies the runner that it holds another node slot. It returns false if the runner
	// has ended.
	granted func() bool

	token      slotToken // of the run's slot, or 0
	queued     bool      // the run is in the queue for its slot
	nodes      int       // unused node slots
	nodeQueued bool      // the run waits for a node slot
}

// take returns true if the run holds a slot. Otherwise, it adds the run to the queue.
func (s *slots) take(r *domain.Run) bool {
	if s.token != 0 {
		return true
	}
	if s.queued {
		return false
	}
	t := ticketOf(r)
	if s.token = s.sched.try(t); s.token != 0 {
		return true
	}
	s.queued = true
	s.sched.enqueue(t)
	return false
}

// accept takes over a slot that the scheduler granted to the queued run. It returns false if the
// run has returned the slot meanwhile.
func (s *slots) accept(token slotToken) bool {
	if !s.sched.holds(s.run, token) { //seed:stale-grant
		return false
	}
	s.token, s.queued = token, false
	return true
}

// yield returns the slot of the run.
func (s *slots) yield() {
	if s.token != 0 {
		s.sched.release(s.run, s.token)
		s.token = 0
	}
}

// takeNode takes a node slot, or waits for one with the priority and age of the run.
func (s *slots) takeNode(priority int, age time.Time) bool {
	if s.nodes > 0 {
		s.nodes--
		return true
	}
	if s.nodeQueued {
		return false
	}
	if s.sched.acquireNode(s.granted, priority, age) {
		return true
	}
	s.nodeQueued = true
	return false
}

// acceptNode takes over the node slot that the run waited for.
func (s *slots) acceptNode() {
	s.nodeQueued = false
	s.nodes++
}

// returnNode keeps the node slot of an ended attempt for the next one.
func (s *slots) returnNode() { s.nodes++ }

// releaseNode returns an unused node slot.
func (s *slots) releaseNode() {
	s.nodes--
	s.sched.releaseNode()
}

// releaseNodes returns all unused node slots.
func (s *slots) releaseNodes() {
	for s.nodes > 0 {
		s.releaseNode()
	}
}
