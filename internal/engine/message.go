package engine

// message is something that happens to a run. Its runner applies messages one at a time,
// in the order in which they were posted.
type message interface{ apply(a *runner) }

// answerable is a message whose sender waits for an answer.
type answerable interface {
	message
	answer(err error)
}

// slotMsg says that the run was granted a slot.
type slotMsg struct{ token slotToken }

func (m slotMsg) apply(a *runner) {
	if a.slots.accept(m.token) && (a.ended || a.stopping || a.nothingToDo()) {
		a.slots.yield()
	}
}

// nodeSlotMsg says that the run holds one more node slot now.
type nodeSlotMsg struct{}

func (nodeSlotMsg) apply(a *runner) { a.slots.acceptNode() }

// timerMsg says that something is due.
type timerMsg struct{}

func (timerMsg) apply(a *runner) { a.due() }

// stopMsg says that the engine stops.
type stopMsg struct{}

func (stopMsg) apply(a *runner) {
	a.stopping = true
	a.slots.releaseNodes()
}

// childrenMsg asks the runner to look whether children have ended.
type childrenMsg struct{}

func (childrenMsg) apply(a *runner) { a.lookForChildren() }

// childMsg says that a child run ended, or cannot be created.
type childMsg struct {
	run string
	err error
	// refused is why a child that ended cannot be resumed; nil: nobody tried.
	refused error
}

func (m childMsg) apply(a *runner) { a.childEnded(m) }

// doneMsg says that the handler of an attempt returned.
type doneMsg struct {
	attempt *attempt
	result  Result
	err     error
}

func (m doneMsg) apply(a *runner) { a.done(m.attempt, m.result, m.err) }

// abandonMsg says that the handler of an attempt ignores the end of its context.
type abandonMsg struct{ attempt *attempt }

func (m abandonMsg) apply(a *runner) { a.abandon(m.attempt) }

// lateMsg brings what the handler of an abandoned attempt returned.
type lateMsg struct {
	attempt *attempt
	output  any
	err     error
}

func (m lateMsg) apply(a *runner) { a.late(m) }

func (m substepMsg) apply(a *runner)  { a.substep(m) }
func (m silenceMsg) apply(a *runner)  { a.silence(m) }
func (m reserveMsg) apply(a *runner)  { a.reserve(m) }
func (m deadlineMsg) apply(a *runner) { a.cutOff() }
func (m answerMsg) apply(a *runner)   { a.keepAnswer(m) }
func (m replanMsg) apply(a *runner)   { a.replanned(m) }

func (m verbMsg) apply(a *runner)    { a.operate(func() { a.answerLater(m, a.act(m)) }) }
func (m resolveMsg) apply(a *runner) { a.operate(func() { a.answerLater(m, a.resolve(m)) }) }
func (m decideMsg) apply(a *runner)  { a.operate(func() { a.decide(m) }) }

func (m lostMsg) apply(a *runner) {
	if a.calls.lose(m.attempt, m.n, m.spent) {
		a.feed()
	}
}
