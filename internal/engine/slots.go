package engine

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// slots are what a run holds of the engine's slots: one to work at all, and one for each
// attempt. It belongs to the runner's goroutine; the scheduler locks itself.
type slots struct {
	sched *scheduler
	run   string
	// granted posts to the runner that it holds one more node slot; false: it has ended.
	granted func() bool

	token      slotToken // of the run's slot; 0: it holds none
	queued     bool      // the run waits in the queue for its slot
	nodes      int       // node slots that no attempt uses
	nodeQueued bool      // the run waits for a node slot
}

// take makes sure that the run may work, or queues it.
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

// accept takes over the slot that the scheduler granted to the queued run; false: the run
// has given it back since, and another may have it.
func (s *slots) accept(token slotToken) bool {
	if !s.sched.holds(s.run, token) { //seed:stale-grant
		return false
	}
	s.token, s.queued = token, false
	return true
}

// yield gives the run's slot back.
func (s *slots) yield() {
	if s.token != 0 {
		s.sched.release(s.run, s.token)
		s.token = 0
	}
}

// takeNode takes a node slot, or waits for one with the run's priority and age.
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

// returnNode keeps the node slot of an attempt that is over for the next one.
func (s *slots) returnNode() { s.nodes++ }

// releaseNode gives one unused node slot back.
func (s *slots) releaseNode() {
	s.nodes--
	s.sched.releaseNode()
}

// releaseNodes gives all unused node slots back.
func (s *slots) releaseNodes() {
	for s.nodes > 0 {
		s.releaseNode()
	}
}
