package engine

import (
	"errors"

	"github.com/kairosd/kairosd/internal/domain"
)

// This file keeps a run within its limits inside its steps: before a model call or tool call
// starts, the runner reserves the maximum usage of the call.

// ErrBudget ends an attempt whose next call would exceed the limits of its run. The run waits, and
// the next attempt continues after the recorded sub-steps.
var ErrBudget = errors.New("the limits of the run leave no room for the call")

// ExpectedUsage is the maximum usage of a model call.
type ExpectedUsage struct {
	// Input is the estimated number of input tokens, and Output the maximum number of output
	// tokens.
	Input, Output int64
	// InputPrice and OutputPrice are prices per token. Unpriced is the setting to add if a price is
	// not configured, or empty.
	InputPrice, OutputPrice float64
	Unpriced                string
	// OnLimit, if not nil, is called before the call with the maximum number of output tokens, if a
	// limit reduces it.
	OnLimit func(output int64)
}

// model reports whether the need is that of a model call. A tool call uses no tokens.
func (n ExpectedUsage) model() bool { return n.Output > 0 }

func (n ExpectedUsage) cost(output int64) float64 {
	return float64(n.Input)*n.InputPrice + float64(output)*n.OutputPrice
}

// budgetError is an ErrBudget with the limit that a call would exceed.
type budgetError struct {
	message domain.Message
	code    string
}

func (e *budgetError) Error() string { return e.message.String() }
func (e *budgetError) Unwrap() error { return ErrBudget }

// BudgetError returns an [ErrBudget] with a message about the limit.
func BudgetError(message domain.Message) error { return &budgetError{message: message} }

// Messages about the usage of calls.
type (
	// reserveMsg requests a reservation for sub-step n. The answer is the maximum number of output
	// tokens, or 0 for no limit.
	reserveMsg struct {
		attempt *attempt
		n       int
		need    ExpectedUsage
		reply   reply[int64]
	}
	// lostMsg reports that a call ended without reporting its usage. If spent is false, it used
	// nothing.
	lostMsg struct {
		attempt *attempt
		n       int
		spent   bool
	}
	// deadlineMsg reports that max_duration may have passed.
	deadlineMsg struct{}
)

func (m reserveMsg) answer(err error) { m.reply.give(0, err) }

// expect stores the expected usage of a sub-step; see [Call.Needs].
func (t *attempt) expect(n int, need ExpectedUsage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.expected == nil {
		t.expected = map[int]ExpectedUsage{}
	}
	t.expected[n] = need
}

// reserve waits until sub-step n may start. The error wraps [ErrBudget] if a limit prevents it.
func (t *attempt) reserve(n int) error {
	t.mu.Lock()
	need := t.expected[n]
	delete(t.expected, n)
	t.mu.Unlock()
	m := reserveMsg{t, n, need, newReply[int64]()}
	// The runner exists as long as the attempt counts.
	output, err := ask(t.ctx, t.handlers.stopped, t.inbox.post, m, m.reply, ErrFenced)
	if err == nil && output > 0 && need.OnLimit != nil {
		need.OnLimit(output)
	}
	return err
}

// callEnded reports a call without a row to the runner.
func (t *attempt) callEnded(n int, spent bool) { t.inbox.post(lostMsg{t, n, spent}) }

// reserve reserves usage for a call, makes the call wait for calls in flight, or refuses it.
func (a *runner) reserve(m reserveMsg) {
	if a.attempts[&m.attempt.Attempt] != m.attempt {
		m.answer(ErrFenced)
		return
	}
	output, wait, err := a.calls.reserve(m.attempt, m.n, m.need, a.m.Limits(), a.m.Spent(a.e.clock.monotonic()))
	if wait {
		a.calls.waiting = append(a.calls.waiting, m)
		return
	}
	m.reply.give(output, err)
}

// callOver ends the reservation of a call whose row is being written.
func (a *runner) callOver(m *substepMsg) {
	if m.entry.Kind != domain.EntrySubstep {
		return
	}
	used := m.entry.Usage
	reserved, over := a.calls.close(m.attempt, m.entry.Substep, a.m.Limits(), m.unreported, &m.entry)
	if over {
		a.e.log.Warn("a model call used more than was reserved", "run_id", a.id, "node", m.entry.Node,
			"used", used.InputTokens+used.OutputTokens, "reserved", reserved)
	}
}

// startWaitingCalls starts waiting calls when usage becomes available.
func (a *runner) startWaitingCalls() {
	waiting := a.calls.waiting
	a.calls.waiting = nil
	for _, m := range waiting {
		a.reserve(m)
	}
}
