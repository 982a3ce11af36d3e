package engine

import (
	"errors"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
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

// budgetError says which limit a call does not fit into.
type budgetError struct{ message, code string }

func (e *budgetError) Error() string { return e.message }
func (e *budgetError) Unwrap() error { return ErrBudget }

// BudgetError is an [ErrBudget] that says what there was no room for.
func BudgetError(message string) error { return &budgetError{message: message} }

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
	// lostMsg says that a call ended without saying what it used, or, unless spent,
	// that it used nothing.
	lostMsg struct {
		attempt *attempt
		n       int
		spent   bool
	}
	// deadlineMsg says that max_duration may have passed.
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
	output, err := ask(t.ctx, t.e, t.runner.inbox.post, m, m.reply, ErrFenced)
	if err == nil && output > 0 && need.Lower != nil {
		need.Lower(output)
	}
	return err
}

// callEnded tells the runner of a call without a row.
func (t *attempt) callEnded(n int, spent bool) { t.runner.inbox.post(lostMsg{t, n, spent}) }

// reserve makes room for a call, lets it wait for calls in flight, or refuses it.
func (a *runner) reserve(m reserveMsg) {
	if a.running[m.attempt.key] != m.attempt {
		m.answer(ErrFenced)
		return
	}
	output, wait, err := a.calls.reserve(m.attempt, m.n, m.need, a.run.Limits, a.spent())
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
	reserved, over := a.calls.close(m.attempt, m.entry.Substep, a.run.Limits, m.unreported, &m.entry)
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

// armDeadline watches for max_duration while the run works.
func (a *runner) armDeadline() {
	if a.deadline != nil {
		a.deadline.Stop()
		a.deadline = nil
	}
	if l := a.run.Limits.MaxDuration; l > 0 && a.run.Status == domain.RunRunning && !a.ended {
		e, id := a.e, a.id
		a.deadline = time.AfterFunc(max(l-a.spent().Time, time.Millisecond), func() { e.post(id, deadlineMsg{}) })
	}
}

// overTime reports whether max_duration has passed.
func (a *runner) overTime() bool {
	l := a.run.Limits.MaxDuration
	return l > 0 && a.run.Status == domain.RunRunning && a.spent().Time >= l
}

// cutOff stops, once max_duration has passed, every call that may be repeated. One
// that may not be ends by itself.
func (a *runner) cutOff() {
	if !a.overTime() {
		a.armDeadline()
		return
	}
	for _, t := range a.running {
		a.cutOffAttempt(t)
	}
}

func (a *runner) cutOffAttempt(t *attempt) {
	w := a.s.Open[t.key]
	if w == nil || len(w.CallsInFlight) > 0 || !t.stepped && t.effect == walk.EffectUnsafe {
		return
	}
	t.cancel(ErrBudget)
}

// outOfBudget lets the run wait until a limit is raised.
func (a *runner) outOfBudget(err error) {
	if a.s.Budget != nil || a.s.Cancelled || a.ended {
		return
	}
	p := runstate.VerbDecision{Verb: runstate.VerbBudget, Message: err.Error()}
	if b, ok := errors.AsType[*budgetError](err); ok {
		p.Message, p.Code = b.message, b.code
	}
	a.verbRow(p, domain.System.Name, "")
}

// limitReached says which limit ended an attempt.
func (a *runner) limitReached(cause error) error {
	if _, ok := errors.AsType[*budgetError](cause); ok {
		return cause
	}
	l := a.run.Limits
	if why := runstate.Exceeded(domain.Limits{MaxDuration: l.MaxDuration, MaxTokens: l.MaxTokens, MaxCost: l.MaxCost}, a.spent()); why != "" {
		return &budgetError{message: why}
	}
	return &budgetError{message: "a limit of the run was reached"}
}
