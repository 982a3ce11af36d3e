package runstate

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// runningFor returns the time for which the run has been running. The monotonic clock measures it,
// so that changes of the system clock do not matter.
func runningFor(m *Machine, now time.Duration) time.Duration {
	return (now - m.runningSince).Truncate(time.Microsecond)
}

// Spent returns what the run has used so far. now is a reading of the monotonic clock.
func (m *Machine) Spent(now time.Duration) Spent {
	s := Spent{Steps: m.Run.Steps, Time: m.Run.RunningTime, Usage: m.Run.Usage}
	if m.Run.Status == domain.RunRunning && m.runningSince != 0 {
		s.Time += runningFor(m, now)
	}
	return s
}

// Limits returns the active limits of the run. Finally steps have none.
func (m *Machine) Limits() domain.Limits {
	if m.State.Walk.Finishing() {
		return domain.Limits{}
	}
	return m.Run.Limits
}

func (m *Machine) spent() Spent { return m.Spent(m.env.Monotonic) }

// overBudget returns the limit that prevents a step from starting, or a zero message.
func overBudget(m *Machine, k StepKey) (none domain.Message) {
	l := m.Limits()
	if l == (domain.Limits{}) {
		return none
	}
	s := m.spent()
	if l.MaxSteps > 0 && s.Steps+int64(len(m.State.Open)) >= l.MaxSteps {
		s.Steps += countBegun(m, k)
	}
	return Exceeded(l, s)
}

// countBegun counts the steps that have begun, except k. Each of them will be settled.
func countBegun(m *Machine, k StepKey) (n int64) {
	for _, w := range m.State.Open {
		if w.StepKey != k && (m.attempts[w.StepKey] != nil || w.Phase != PhaseReady) {
			n++
		}
	}
	return n
}

// armDeadline arms the timer of max_duration while the run is running.
func armDeadline(m *Machine) {
	l := m.Limits().MaxDuration
	switch {
	case l <= 0:
	case m.Run.Status == domain.RunRunning && !m.ended:
		m.do(ArmDeadline{max(l-m.spent().Time, time.Millisecond)})
	default:
		m.do(ArmDeadline{})
	}
}

// overTime reports whether max_duration has passed.
func overTime(m *Machine) bool {
	l := m.Limits().MaxDuration
	return l > 0 && m.Run.Status == domain.RunRunning && m.spent().Time >= l
}

// handle stops every attempt that may be repeated once max_duration has passed. Other attempts end
// by themselves.
func (DeadlinePassed) handle(m *Machine) error {
	if !overTime(m) {
		armDeadline(m)
		return nil
	}
	for _, t := range m.attemptsInOrder() {
		cutOff(m, t)
	}
	return nil
}

func cutOff(m *Machine, t *Attempt) {
	w := m.State.Open[t.StepKey]
	if w == nil || len(w.CallsInFlight) > 0 || !t.Stepped && t.Effect == walk.EffectUnsafe {
		return
	}
	m.do(CancelAttempt{t, StopBudget})
}

// waitForBudget makes the run wait until a limit is raised, or the shared budget has room. code is another event that
// ends the wait.
func waitForBudget(m *Machine, message domain.Message, code string, shared *BudgetRef) {
	if m.State.Budget != nil || m.State.Cancelled || m.ended {
		return
	}
	m.addActionRow(RunActionDecision{Action: RunActionBudget, Message: message.String(), Text: message.Encode(), Code: code,
		Budget: shared},
		domain.System.Name, "")
	if shared != nil {
		m.dueDirty = true
		m.doAfter(FindRoom{}) // it may have room again by now
	}
}

// budgetDue returns when the window of the shared budget that the run waits for ends, or zero.
func budgetDue(m *Machine) (none time.Time) {
	if b := m.State.Budget; b != nil && b.Shared != nil {
		return b.Shared.Until
	}
	return none
}

// endBudgetWait ends the wait for a shared budget. The next call reserves its usage again.
func endBudgetWait(m *Machine) {
	m.addActionRow(RunActionDecision{Action: RunActionBudgetRetry}, domain.System.Name, "")
	m.dueDirty = true
}

// handle ends the wait for the shared budget.
func (ev *BudgetFreed) handle(m *Machine) error {
	if b := m.State.Budget; b != nil && b.Shared != nil && b.Shared.ID == ev.Budget && !m.ended {
		endBudgetWait(m)
	}
	return nil
}

// recordBudgetWait adds the begin or the end of a wait for a shared budget to the current checkpoint.
func recordBudgetWait(m *Machine) {
	var shared *BudgetRef
	if b := m.State.Budget; b != nil {
		shared = b.Shared
	}
	if shared == m.waitsFor {
		return
	}
	if m.waitsFor = shared; shared == nil {
		m.next.BudgetWait = &domain.BudgetWait{}
		return
	}
	m.next.BudgetWait = &domain.BudgetWait{Budget: shared.ID, Since: m.State.Budget.since, Start: shared.Start, Until: shared.Until,
		Least: shared.Least}
}

// limitReached returns the limit that ended an attempt.
func limitReached(m *Machine, ev *AttemptEnding) (message domain.Message, code string) {
	if !ev.Limit.IsZero() {
		return ev.Limit, ev.LimitCode
	}
	l := m.Run.Limits
	if why := Exceeded(domain.Limits{MaxDuration: l.MaxDuration, MaxTokens: l.MaxTokens, MaxCost: l.MaxCost}, m.spent()); !why.IsZero() {
		return why, ""
	}
	return domain.Messagef("a limit of the run was reached"), ""
}
