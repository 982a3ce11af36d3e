package engine

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
)

// message is something that happens to a run. Its runner applies messages one at a time,
// in the order in which they were posted.
type message interface{ apply(a *runner) }

// answerable is a message whose sender waits for an answer.
type answerable interface {
	message
	answer(err error)
}

// slotMsg reports that the run was granted a slot.
type slotMsg struct{ token slotToken }

func (m slotMsg) apply(a *runner) {
	if !a.slots.accept(m.token) {
		return
	}
	waits := a.m.Run.Status == domain.RunWaiting && len(a.attempts) == 0 && a.nothingStarts()
	if a.m.Ended() || a.stopping || waits { // the slot is of no use
		a.slots.yield()
	}
}

// nodeSlotMsg reports that the run holds one more node slot now.
type nodeSlotMsg struct{}

func (nodeSlotMsg) apply(a *runner) { a.slots.acceptNode() }

// timerMsg reports that something is due.
type timerMsg struct{}

func (timerMsg) apply(a *runner) { a.handle(runstate.TimerDue{}) }

// stopMsg reports that the engine stops.
type stopMsg struct{}

func (stopMsg) apply(a *runner) {
	a.stopping = true
	a.slots.releaseNodes()
}

// childrenMsg asks the runner to look whether children have ended.
type childrenMsg struct{}

func (childrenMsg) apply(a *runner) { a.handle(runstate.CheckChildren{}) }

// childMsg reports that a child run ended, or cannot be created.
type childMsg struct {
	run string
	err error
	// refused is why a child that ended cannot be resumed; nil: no one tried.
	refused error
}

// doneMsg reports that the handler of an attempt returned.
type doneMsg struct {
	attempt *attempt
	result  Result
	err     error
}

// abandonMsg reports that the handler of an attempt ignores the end of its context.
type abandonMsg struct{ attempt *attempt }

// lateMsg brings what the handler of an abandoned attempt returned.
type lateMsg struct {
	attempt *attempt
	output  any
	err     error
}

func (m silenceMsg) apply(a *runner) {
	a.handle(&runstate.Silence{Since: m.since, Node: m.node})
}

func (m reserveMsg) apply(a *runner) { a.reserve(m) }

func (deadlineMsg) apply(a *runner) { a.handle(runstate.DeadlinePassed{}) }

func (m lostMsg) apply(a *runner) {
	if a.calls.lose(m.attempt, m.n, m.spent) {
		a.feed()
	}
}
