package engine

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
)

// message is something that happens to a run. The runner applies messages one at a time, in the
// order in which they were posted.
type message interface{ apply(a *runner) }

// answerable is a message whose sender waits for an answer.
type answerable interface {
	message
	answer(err error)
}

// slotMsg reports that the run got a slot.
type slotMsg struct{ token slotToken }

func (m slotMsg) apply(a *runner) {
	if !a.slots.accept(m.token) {
		return
	}
	waits := a.m.Run.Status == domain.RunWaiting && len(a.attempts) == 0 && a.nothingStarts()
	if a.m.Ended() || a.stopping || waits { // the run cannot use the slot
		a.slots.yield()
	}
	if a.m.Ended() && a.pipe.idle() { // it ended before it was queued, and must not keep its concurrency key
		a.e.sched.ended(a.id, concurrencyKey(&a.m.Run))
	}
}

// nodeSlotMsg reports that the run got another node slot.
type nodeSlotMsg struct{}

func (nodeSlotMsg) apply(a *runner) { a.slots.acceptNode() }

// timerMsg reports that something is due.
type timerMsg struct{}

func (timerMsg) apply(a *runner) { a.handle(runstate.TimerDue{}) }

// stopMsg reports that the engine is stopping.
type stopMsg struct{}

func (stopMsg) apply(a *runner) {
	a.stopping = true
	a.slots.releaseNodes()
}

// childrenMsg makes the runner check whether children have ended.
type childrenMsg struct{}

func (childrenMsg) apply(a *runner) { a.handle(runstate.CheckChildren{}) }

// childMsg reports that a child run ended or cannot be created.
type childMsg struct {
	run string
	err error
	// refused is the reason why an ended child cannot be resumed, or nil.
	refused error
}

// doneMsg reports that the handler of an attempt returned.
type doneMsg struct {
	attempt *attempt
	result  Result
	err     error
}

// abandonMsg reports that the handler of an attempt did not return after its context ended.
type abandonMsg struct{ attempt *attempt }

// lateMsg contains the result of an abandoned attempt.
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
	charge, ok := a.calls.Lose(&m.attempt.Attempt, m.n, m.spent)
	if !ok {
		return
	}
	if charge != nil {
		a.e.handlers.budgets.settle([]domain.BudgetCharge{*charge})
	}
	a.startWaitingCalls()
}
