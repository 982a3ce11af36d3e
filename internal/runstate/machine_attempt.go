package runstate

import (
	"cmp"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// preparing runs fn for a step that is being started, if it is still open.
func preparing(m *Machine, k StepKey, fn func(w *Step)) {
	w := m.State.Open[k]
	if w == nil {
		return
	}
	m.queue.pop(k)
	m.starting = true
	fn(w)
	m.starting = false
}

func (ev *AttemptRefused) handle(m *Machine) error {
	preparing(m, ev.StepKey, func(w *Step) { m.refuse(w, ev.Failure) })
	return nil
}

func (ev *ConsentNeeded) handle(m *Machine) error {
	preparing(m, ev.StepKey, func(w *Step) { askConsent(m, w, ev.Request, nil) })
	return nil
}

func (ev *DryStep) handle(m *Machine) error {
	preparing(m, ev.StepKey, func(w *Step) { completeDry(m, w, &m.Program.Nodes[w.Node], ev.Input) })
	return nil
}

func (ev *AttemptReady) handle(m *Machine) error {
	t := ev.Attempt
	if m.State.Open[t.StepKey] == nil {
		return nil
	}
	m.queue.pop(t.StepKey)
	m.attempts[t.StepKey] = t
	if t.Effect == walk.EffectPure {
		// Pure work needs no durable intent and may run ahead.
		m.do(StartAttempt{t})
		return nil
	}
	m.addUses(ev.Uses)
	node := t.Spec
	e := m.entry(domain.EntryIntent, t.StepKey)
	e.Status, e.Attempt, e.Effect = domain.NodeRunning, t.Number, string(t.Effect)
	e.IdempotencyKey, e.Input, e.StartedAt = t.IdempotencyKey, t.Input, t.StartedAt
	e.Agent = node.Agent
	m.add(e) //seed:intent
	p := m.patch()
	message := domain.Verbatim(node.ID)
	if t.Number > 1 {
		message = domain.Messagef("%s (attempt %d)", node.ID, t.Number)
	}
	headline := message.String()
	p.Headline, p.Message, p.Node = &headline, message, &node.ID
	m.doAfter(StartAttempt{t})
	return nil
}

// end removes an attempt from the active ones. It returns its step, or nil if the attempt no longer
// counts or its step is no longer open.
func (m *Machine) end(t *Attempt) *Step {
	if m.attempts[t.StepKey] != t {
		return nil
	}
	delete(m.attempts, t.StepKey)
	return m.State.Open[t.StepKey]
}

func (ev *AttemptDone) handle(m *Machine) error {
	m.next.Charges = append(m.next.Charges, ev.Charges...)
	w := m.end(ev.Attempt)
	if w == nil {
		return nil
	}
	m.addUses(ev.Uses)
	f := ev.Failure
	if f == nil && len(w.CallsInFlight) > 0 {
		f = (&domain.Failure{Code: walk.CodeFailed, Node: ev.Attempt.Spec.ID}).
			WithMessage("it ended, and the outcome of its call of %s is unknown", ToolNames(w.OpenCalls()))
	}
	switch {
	case f != nil && awaitConsent(m, ev, w):
	case f != nil:
		attemptFailed(m, &ev.AttemptEnding, w, f)
	case ev.Unstorable != nil:
		m.final(w, domain.NodeFailed, nil, ev.Unstorable, ev.fill)
	default:
		m.final(w, domain.NodeCompleted, ev.Output, nil, func(e *domain.Entry) { ev.fill(e); e.Output = ev.Raw })
	}
	closeForeach(m)
	return nil
}

// fill completes the last row of an attempt.
func (ev *AttemptEnding) fill(e *domain.Entry) {
	t := ev.Attempt
	e.Attempt, e.StartedAt, e.Effect, e.Usage = t.Number, t.StartedAt, string(t.Effect), ev.Usage.Add(ev.Unreported)
	e.Provider = ev.Provider
	e.Agent, e.IdempotencyKey, e.Log = cmp.Or(ev.Agent, t.Spec.Agent), t.IdempotencyKey, ev.Log
	if t.Effect == walk.EffectPure {
		e.Input, e.IdempotencyKey = t.Input, ""
	}
}

// fillAgain is fill for another row about the same end. Usage counts once.
func (ev *AttemptEnding) fillAgain(e *domain.Entry) {
	ev.fill(e)
	e.Usage = domain.Usage{}
}

func (ev *AttemptNotStarted) handle(m *Machine) error {
	m.next.Charges = append(m.next.Charges, ev.Charges...)
	if w := m.end(ev.Attempt); w != nil {
		f := Interrupted("it had not begun")
		f.NoEffect = true
		attemptFailed(m, &ev.AttemptEnding, w, f)
	}
	return nil
}

func (ev *AttemptAbandoned) handle(m *Machine) error {
	m.next.Charges = append(m.next.Charges, ev.Charges...)
	w := m.end(ev.Attempt)
	if w == nil {
		return nil
	}
	t := ev.Attempt
	f := (&domain.Failure{Code: walk.CodeTimeout, Node: t.Spec.ID}).
		WithMessage("timed out after %s; the handler did not stop", t.Spec.Timeout)
	switch ev.Cause {
	case StopCancelled:
		f = (&domain.Failure{Code: walk.CodeCancelled, Node: t.Spec.ID}).WithMessage("cancelled; the handler did not stop")
	case StopShutdown, StopBudget:
		f = Interrupted("kairosd stopped while it ran")
	}
	attemptFailed(m, &ev.AttemptEnding, w, f)
	return nil
}

// attemptFailed records a failed attempt and decides what follows.
func attemptFailed(m *Machine, ev *AttemptEnding, w *Step, f *domain.Failure) {
	t, limited := ev.Attempt, ev.Cause == StopBudget
	most, _ := t.Spec.Retries(f.Code)
	j := AttemptEnd{Effect: t.Effect, Stepped: t.Stepped, OpenCall: len(w.CallsInFlight) > 0, NoEffect: f.NoEffect, Permanent: f.Permanent,
		Interrupted: ev.Cause == StopShutdown || ev.Cause == StopBudget, Cancelled: isCancelled(m, w), Stopping: m.State.StoppedWithRun(w),
		FailedAttempts: w.FailedAttempts + 1, MaxAttempts: most}
	fails := *ev
	fails.Agent = "" // a failed attempt does not count for the agent
	ev = &fails
	why, reason := domain.Messagef("kairosd stopped while it ran"), "stop"
	if limited {
		why, reason = domain.Messagef("a limit of the run was reached while it ran"), "budget"
	}
	if j.Interrupted && (f.Code == walk.CodeCancelled || f.Code == walk.CodeFailed || limited) {
		f = (&domain.Failure{Code: CodeInterrupted, NoEffect: f.NoEffect, Detail: f.Message}).WithMessage("%s", why)
	}
	switch j.Outcome() {
	case OutcomeFailed:
		m.final(w, domain.NodeFailed, nil, f, ev.fill)
	case OutcomeRetry:
		m.attemptContinues(w, domain.NodeFailed, f, "", ev.fill)
		scheduleRetry(m, t.Spec, w, f)
	case OutcomeInDoubt:
		m.attemptContinues(w, domain.NodeInDoubt, f, "", ev.fill)
		if isCancelled(m, w) {
			// The visit ends, but the doubt stays.
			m.final(w, domain.NodeCancelled, nil, nil, ev.fillAgain)
		}
	case OutcomeInterrupted:
		if limited && j.Stopping && !m.Program.ContinueBranches {
			m.final(w, domain.NodeCancelled, nil, f, ev.fill) // a stopping run does not wait for a higher limit
			break
		}
		m.attemptContinues(w, domain.NodePending, f, reason, ev.fill)
		if !limited && !m.env.Stopping {
			m.queue.push(w.StepKey) // only the program that executed it stopped, and another one continues
		}
		if limited {
			m.queue.push(w.StepKey) // for when a limit is raised
			message, code := limitReached(m, ev)
			waitForBudget(m, message, code, ev.LimitBudget)
		}
	case OutcomeCancelled:
		m.final(w, domain.NodeCancelled, nil, f, ev.fill)
	}
	closeForeach(m)
}

// scheduleRetry waits until the next attempt. The wait is durable.
func scheduleRetry(m *Machine, node *walk.ProgramNode, w *Step, f *domain.Failure) {
	// The delay that a server requires is the minimum. Jitter spreads the runs that it rejected at
	// the same time.
	asked := f.RetryAfter.Duration() + time.Duration(m.env.Jitter[1]*float64(f.RetryAfter)/10)
	_, waits := node.Retries(f.Code)
	delay := max(waits.Delay(w.FailedAttempts, m.env.Jitter[0]), asked)
	if delay <= 0 {
		m.queue.push(w.StepKey)
		return
	}
	e := m.entry(domain.EntryWait, w.StepKey)
	e.Status, e.Reason, e.Attempt = domain.NodeWaiting, string(domain.WaitRetry), w.Attempt
	e.DueAt = m.env.Now.Add(delay.Truncate(time.Microsecond) + time.Microsecond)
	m.add(e)
	m.dueDirty = true
}

// handle stores the result of an abandoned attempt for people.
func (ev *AttemptLate) handle(m *Machine) error {
	k := ev.Attempt.StepKey
	i, ok := m.Program.Index[ev.Attempt.Spec.ID]
	if !ok || k.Item != NoItem && m.Program.Nodes[i].Foreach == nil {
		return nil // the run follows a version without that step
	}
	k.Node = i
	e := m.entry(domain.EntryResolve, k)
	e.Decision, e.Attempt, e.StartedAt = ResolveDecision{Action: ActionLate}.JSON(), ev.Attempt.Number, ev.Attempt.StartedAt
	e.Reason = "the handler returned after the attempt was abandoned"
	e.Failure, e.Output = ev.Failure, ev.Output
	m.add(e)
	return nil
}

func (ev *SubstepRecorded) handle(m *Machine) error {
	m.next.Charges = append(m.next.Charges, ev.Charges...)
	t := ev.Attempt
	if m.attempts[t.StepKey] != t {
		return nil
	}
	e := ev.Row
	e.At = m.env.Now
	m.addUses(ev.Uses)
	m.add(e)
	if overTime(m) {
		cutOff(m, t)
	}
	for _, l := range ev.Messages {
		l.Seq = m.State.Seq
		m.next.Messages = append(m.next.Messages, l)
	}
	if h := ev.Handoff; h != nil {
		h.Seq = m.State.Seq
		m.next.Handoffs = append(m.next.Handoffs, *h)
	}
	return nil
}

func (ev *CallOver) handle(m *Machine) error {
	m.next.Charges = append(m.next.Charges, ev.Charge)
	return nil
}

// addUses adds new participants of the run to the current checkpoint.
func (m *Machine) addUses(list []domain.Use) {
	for _, u := range list {
		if m.recordedUses[u] {
			continue
		}
		if m.recordedUses == nil {
			m.recordedUses = map[domain.Use]bool{}
		}
		m.recordedUses[u] = true
		m.next.Uses = append(m.next.Uses, u)
	}
}
