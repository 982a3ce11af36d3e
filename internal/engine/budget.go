package engine

import (
	"errors"

	"github.com/kairosd/kairosd/internal/budget"
	"github.com/kairosd/kairosd/internal/budget/runledger"
	"github.com/kairosd/kairosd/internal/domain"
)

// This file keeps a run within its limits inside its steps: before a model call or tool call
// starts, the runner reserves the maximum usage of the call.

// ErrBudget ends an attempt whose next call would exceed the limits of its run, or a shared budget. The run waits, and
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
	// Agent and Provider make the call.
	Agent, Provider string
	// Cheaper, if not nil, returns the need of the call if it goes to PROVIDER/MODEL, or false if that is not configured. If
	// the call then goes there, Degrade is called before it.
	Cheaper func(to string) (ExpectedUsage, bool)
	Degrade func()
	// OnLimit, if not nil, is called before the call with the maximum number of output tokens, if a
	// limit reduces it.
	OnLimit func(output int64)
}

// of returns the need as values.
func (n *ExpectedUsage) of() runledger.Need {
	return runledger.Need{Need: budget.Need{Input: n.Input, Output: n.Output, InputPrice: n.InputPrice, OutputPrice: n.OutputPrice,
		Unpriced: n.Unpriced}, Agent: n.Agent, Provider: n.Provider}
}

// budgetError is an ErrBudget with the limit that a call would exceed.
type budgetError struct{ runledger.Refusal }

func (e *budgetError) Error() string { return e.Message.String() }
func (e *budgetError) Unwrap() error { return ErrBudget }

// refusal returns the error of a refused call, or nil.
func refusal(r *runledger.Refusal) error {
	if r == nil {
		return nil
	}
	return &budgetError{*r}
}

// BudgetError returns an [ErrBudget] with a message about the limit.
func BudgetError(message domain.Message) error { return refusal(&runledger.Refusal{Message: message}) }

// calls are the calls in flight of a run, and those that wait for available usage, in order. Only the goroutine of the runner
// uses them.
type calls struct {
	runledger.Ledger
	waiting []reserveMsg
}

// Messages about the usage of calls.
type (
	// reserveMsg requests a reservation for sub-step n.
	reserveMsg struct {
		attempt *attempt
		n       int
		need    ExpectedUsage
		reply   reply[granted]
	}
	// granted is the permission for a call: the maximum number of output tokens, or 0 for no limit, and what it
	// has reserved from shared budgets.
	granted struct {
		output int64
		holds  []domain.BudgetHold
		// degrade, if not nil, sends the call to a cheaper model.
		degrade func()
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

func (m reserveMsg) answer(err error) { m.reply.give(granted{}, err) }

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
	m := reserveMsg{t, n, need, newReply[granted]()}
	// The runner exists as long as the attempt counts.
	g, err := ask(t.ctx, t.handlers.stopped, t.inbox.post, m, m.reply, ErrFenced)
	if err != nil {
		return err
	}
	if err := t.handlers.budgets.hold(t.ctx, g.holds); err != nil {
		t.callEnded(n, false)
		return err
	}
	if g.degrade != nil {
		g.degrade()
	}
	if g.output > 0 && need.OnLimit != nil {
		need.OnLimit(g.output)
	}
	return nil
}

// callEnded reports a call without a row to the runner.
func (t *attempt) callEnded(n int, spent bool) { t.inbox.post(lostMsg{t, n, spent}) }

// reserve reserves usage for a call, makes the call wait for calls in flight, or refuses it.
func (a *runner) reserve(m reserveMsg) {
	t := &m.attempt.Attempt
	if a.attempts[t] != m.attempt || m.attempt.ctx.Err() != nil {
		m.answer(ErrFenced)
		return
	}
	need := m.need.of()
	output, wait, refused := a.calls.Reserve(t, m.n, need, a.m.Limits(), a.m.Spent(a.e.clock.Monotonic()))
	g := granted{output: output}
	if !wait && refused == nil && need.Model() {
		if g, wait, refused = a.reserveShared(m, output); wait || refused != nil {
			a.calls.Lose(t, m.n, false)
		}
	}
	if wait {
		a.calls.waiting = append(a.calls.waiting, m)
		return
	}
	m.reply.give(g, refusal(refused))
}

// callOver ends the reservation of a call whose row is being written. It returns the charges to its budgets.
func (a *runner) callOver(m *substepMsg) []domain.BudgetCharge {
	if m.entry.Kind != domain.EntrySubstep {
		return nil
	}
	used := m.entry.Usage
	charge, reserved, over := a.calls.Close(&m.attempt.Attempt, m.entry.Substep, a.m.Limits(), m.unreported, &m.entry)
	if over {
		a.e.log.Warn("a model call used more than was reserved", "run_id", a.id, "node", m.entry.Node,
			"used", used.InputTokens+used.OutputTokens, "reserved", reserved)
	}
	if charge == nil || !a.e.handlers.budgets.ledger.Settle(*charge) {
		return nil
	}
	return []domain.BudgetCharge{*charge}
}

// startWaitingCalls starts waiting calls when usage becomes available.
func (a *runner) startWaitingCalls() {
	waiting := a.calls.waiting
	a.calls.waiting = nil
	for _, m := range waiting {
		a.reserve(m)
	}
}
