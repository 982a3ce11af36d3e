package engine

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
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

// reservation is what a call in flight may use of the limits of its run.
type reservation struct {
	tokens int64
	usage  domain.Usage
	// lost: the call ended without saying what it used. It counts in full, and
	// becomes usage with the row of its attempt's end.
	lost bool
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
	if !a.fits(m) {
		a.hungry = append(a.hungry, m)
	}
}

// fits answers a reserveMsg unless the call would fit if calls in flight used less
// than they may: then it waits for them.
func (a *runner) fits(m reserveMsg) bool {
	refuse := func(code, format string, args ...any) bool {
		m.answer(&budgetError{fmt.Sprintf(format, args...), code})
		return true
	}
	l, s := a.run.Limits, a.spent()
	if why := runstate.Exceeded(domain.Limits{MaxDuration: l.MaxDuration, MaxTokens: l.MaxTokens, MaxCost: l.MaxCost}, s); why != "" {
		return refuse("", "%s", why)
	}
	need := m.need
	if !need.model() {
		m.reply.give(0, nil)
		return true
	}
	live, lost := a.reservedNow()
	output := need.Output
	if l.MaxTokens > 0 {
		free := l.MaxTokens - s.Tokens() - lost.tokens
		if need.Input >= free {
			return refuse("", "max_tokens %d leaves %d tokens, and the input of the next model call alone has about %d", l.MaxTokens, max(free, 0), need.Input)
		}
		output = min(output, free-need.Input)
	}
	if l.MaxCost > 0 {
		if need.Unpriced != "" {
			return refuse(runstate.CodePrice, "max_cost %g cannot be kept: no price is known for the next model call; set %s, then resume the run", l.MaxCost, need.Unpriced)
		}
		free := l.MaxCost - s.Usage.Cost - lost.usage.Cost
		if least := need.cost(1); least > free {
			return refuse("", "max_cost %g leaves %g, and the next model call costs about %g", l.MaxCost, max(free, 0), least)
		}
		if need.OutputPrice > 0 {
			if most := math.Floor((free - need.cost(0)) / need.OutputPrice); most < float64(output) {
				output = int64(most)
			}
		}
	}
	r := reservation{tokens: need.Input + output, usage: domain.Usage{InputTokens: need.Input, OutputTokens: output, Cost: need.cost(output)}}
	if l.MaxTokens > 0 && s.Tokens()+lost.tokens+live.tokens+r.tokens > l.MaxTokens ||
		l.MaxCost > 0 && s.Usage.Cost+lost.usage.Cost+live.usage.Cost+r.usage.Cost > l.MaxCost && live.usage.Cost > 0 {
		return false
	}
	if a.reserved == nil {
		a.reserved = map[*attempt]map[int]reservation{}
	}
	if a.reserved[m.attempt] == nil {
		a.reserved[m.attempt] = map[int]reservation{}
	}
	a.reserved[m.attempt][m.n] = r //seed:reserve
	if l.MaxTokens == 0 && l.MaxCost == 0 {
		output = 0
	}
	m.reply.give(output, nil)
	return true
}

// reservedNow sums what calls in flight may use, and what calls that were lost may
// have used.
func (a *runner) reservedNow() (live, lost reservation) {
	for _, calls := range a.reserved {
		for _, r := range calls {
			sum := &live
			if r.lost {
				sum = &lost
			}
			sum.tokens += r.tokens
			sum.usage = sum.usage.Add(r.usage)
		}
	}
	return live, lost
}

// callOver takes the reservation of a call whose row is being written, and gives
// the usage that counts: what was reported, or where nothing was the reservation.
func (a *runner) callOver(m *substepMsg) {
	r, ok := a.reserved[m.attempt][m.entry.Substep]
	if !ok || m.entry.Kind != domain.EntrySubstep {
		return
	}
	delete(a.reserved[m.attempt], m.entry.Substep)
	if l := a.run.Limits; l.MaxTokens == 0 && l.MaxCost == 0 {
		return
	}
	u := &m.entry.Usage
	switch used := u.InputTokens + u.OutputTokens; {
	case m.unreported:
		*u = r.usage
		m.entry.Reason = "no usage was reported: the call counts as what was reserved for it"
	case used > r.tokens:
		m.entry.Reason = fmt.Sprintf("the call used %d tokens; %d were reserved", used, r.tokens)
		a.e.log.Warn("a model call used more than was reserved", "run_id", a.id, "node", m.entry.Node, "used", used, "reserved", r.tokens)
	}
}

// callLost keeps or frees the reservation of a call that ended without a row.
func (a *runner) callLost(m lostMsg) {
	r, ok := a.reserved[m.attempt][m.n]
	if !ok {
		return
	}
	if m.spent {
		r.lost = true
		a.reserved[m.attempt][m.n] = r
	} else {
		delete(a.reserved[m.attempt], m.n)
	}
	a.feed()
}

// settleReserved ends all reservations of an attempt that is over: what its calls
// may have used counts as used.
func (a *runner) settleReserved(t *attempt) (u domain.Usage) {
	limited := a.run.Limits.MaxTokens > 0 || a.run.Limits.MaxCost > 0
	for _, r := range a.reserved[t] {
		if limited {
			u = u.Add(r.usage)
		}
	}
	delete(a.reserved, t)
	return u
}

// feed gives room that has become free to calls that wait for it.
func (a *runner) feed() {
	waiting := a.hungry
	a.hungry = nil
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
	if w == nil || len(w.CallsInFlight) > 0 || !t.stepped && t.effect == planner.EffectUnsafe {
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

// raised are the limits that a request leads to; CodeInvalid if one of them is
// below what the run has used.
func (a *runner) raised(r domain.VerbRequest) (domain.Limits, error) {
	l := runstate.MergeLimits(a.run.Limits, r.Limits)
	for _, f := range []struct {
		name      string
		has, plus bool
	}{
		{"max_steps", l.MaxSteps > 0, r.Raise.MaxSteps != 0}, {"max_duration", l.MaxDuration > 0, r.Raise.MaxDuration != 0},
		{"max_tokens", l.MaxTokens > 0, r.Raise.MaxTokens != 0}, {"max_cost", l.MaxCost > 0, r.Raise.MaxCost != 0},
	} {
		if f.plus && !f.has {
			return l, domain.Errorf(domain.CodeInvalid, "the run has no %s to raise", f.name).Suggest("set one without a plus sign")
		}
	}
	l.MaxSteps, l.MaxTokens = plus(l.MaxSteps, r.Raise.MaxSteps), plus(l.MaxTokens, r.Raise.MaxTokens)
	l.MaxDuration, l.MaxCost = time.Duration(plus(int64(l.MaxDuration), int64(r.Raise.MaxDuration))), l.MaxCost+r.Raise.MaxCost
	s := a.spent()
	below := func(name string, limit, used any) error {
		return domain.Errorf(domain.CodeInvalid, "%s %v is below the %v that the run has used", name, limit, used).Suggest("set a limit above %v", used)
	}
	switch asked := runstate.MergeLimits(r.Limits, r.Raise); {
	case asked.MaxSteps > 0 && l.MaxSteps < s.Steps:
		return l, below("max_steps", l.MaxSteps, s.Steps)
	case asked.MaxDuration > 0 && l.MaxDuration < s.Time:
		return l, below("max_duration", l.MaxDuration, s.Time)
	case asked.MaxTokens > 0 && l.MaxTokens < s.Tokens():
		return l, below("max_tokens", l.MaxTokens, s.Tokens())
	case asked.MaxCost > 0 && l.MaxCost < s.Usage.Cost:
		return l, below("max_cost", l.MaxCost, s.Usage.Cost)
	}
	return l, nil
}

func plus(a, b int64) int64 {
	if b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}
