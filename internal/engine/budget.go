package engine

import (
	"errors"

	"github.com/kairosd/kairosd/internal/domain"
)

// This file keeps a run within its limits inside its steps: before a model call or
// tool call starts, the runner reserves what the call may use at most.

// ErrBudget ends an attempt whose next call does not fit into the limits of its
// run. The run waits, and the next attempt continues behind what is recorded.
var ErrBudget = errors.New("the limits of the run leave no room for the call")

// Need is what a model call may use.
type Need struct {
	// Input is the estimated number of input tokens, Output the most that the
	// answer may have.
	Input, Output int64
	// InputPrice and OutputPrice are those of one token. Unpriced names the setting
	// to add where no price is known; empty: both are known.
	InputPrice, OutputPrice float64
	Unpriced                string
	// Lower is called before the call with how many tokens its answer may have, if
	// a limit bounds it.
	Lower func(output int64)
}

// model reports whether the need is that of a model call; a tool uses no tokens.
func (n Need) model() bool { return n.Output > 0 }

func (n Need) cost(output int64) float64 {
	return float64(n.Input)*n.InputPrice + float64(output)*n.OutputPrice
}

// budgetError states which limit a call does not fit into.
type budgetError struct {
	message domain.Message
	code    string
}

func (e *budgetError) Error() string { return e.message.String() }
func (e *budgetError) Unwrap() error { return ErrBudget }

// BudgetError is an [ErrBudget] with what there was no room for.
func BudgetError(message domain.Message) error { return &budgetError{message: message} }

// Messages about what calls may use.
type (
	// reserveMsg asks for room for sub-step n; the answer is how many tokens the
	// output may have, 0: as many as it needs.
	reserveMsg struct {
		attempt *attempt
		n       int
		need    Need
		reply   reply[int64]
	}
	// lostMsg reports that a call ended without saying what it used, or, unless spent,
	// that it used nothing.
	lostMsg struct {
		attempt *attempt
		n       int
		spent   bool
	}
	// deadlineMsg reports that max_duration may have passed.
	deadlineMsg struct{}
)

func (m reserveMsg) answer(err error) { m.reply.give(0, err) }

// needs keeps what a sub-step is about to use; see [Call.Needs].
func (t *attempt) needs(n int, need Need) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.needed == nil {
		t.needed = map[int]Need{}
	}
	t.needed[n] = need
}

// reserve waits until sub-step n may start. [ErrBudget] in the chain: it may not.
func (t *attempt) reserve(n int) error {
	t.mu.Lock()
	need := t.needed[n]
	delete(t.needed, n)
	t.mu.Unlock()
	m := reserveMsg{t, n, need, newReply[int64]()}
	// The runner lives as long as the attempt counts.
	output, err := ask(t.ctx, t.handlers.stopped, t.inbox.post, m, m.reply, ErrFenced)
	if err == nil && output > 0 && need.Lower != nil {
		need.Lower(output)
	}
	return err
}

// callEnded reports a call without a row to the runner.
func (t *attempt) callEnded(n int, spent bool) { t.inbox.post(lostMsg{t, n, spent}) }

// reserve makes room for a call, lets it wait for calls in flight, or refuses it.
func (a *runner) reserve(m reserveMsg) {
	if a.attempts[&m.attempt.Attempt] != m.attempt {
		m.answer(ErrFenced)
		return
	}
	output, wait, err := a.calls.reserve(m.attempt, m.n, m.need, a.m.Run.Limits, a.m.Spent(a.e.clock.monotonic()))
	if wait {
		a.calls.waiting = append(a.calls.waiting, m)
		return
	}
	m.reply.give(output, err)
}

// callOver settles the reservation of a call whose row is being written.
func (a *runner) callOver(m *substepMsg) {
	if m.entry.Kind != domain.EntrySubstep {
		return
	}
	used := m.entry.Usage
	reserved, over := a.calls.close(m.attempt, m.entry.Substep, a.m.Run.Limits, m.unreported, &m.entry)
	if over {
		a.e.log.Warn("a model call used more than was reserved", "run_id", a.id, "node", m.entry.Node,
			"used", used.InputTokens+used.OutputTokens, "reserved", reserved)
	}
}

// feed gives room that has become free to calls that wait for it.
func (a *runner) feed() {
	waiting := a.calls.waiting
	a.calls.waiting = nil
	for _, m := range waiting {
		a.reserve(m)
	}
}
