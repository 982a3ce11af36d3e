package runstate

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// status completes the current checkpoint with the status of the run.
func (m *Machine) status() {
	recordPath(m)
	if m.ended || m.reopening || m.env.Stopping && len(m.next.Entries) == 0 && m.next.Patch == nil {
		return
	}
	status, reason, waits := currentStatus(m)
	// A resume of one step ends in a pause. A pause ends with the run, which running steps may have
	// completed.
	if on := m.State.Paused && !status.Final(); on != m.Run.Paused { //seed:final-pause
		m.setPaused(on)
	}
	if m.env.Stopping && !status.Final() && m.Run.Status == domain.RunRunning {
		return // a running run stays running during a shutdown and continues at the next start
	}
	if m.dueDirty || status != m.Run.Status {
		recordDue(m, status)
	}
	if status == m.Run.Status && reason == m.Run.WaitReason {
		return
	}
	p := m.patch()
	p.Status, p.WaitReason = status, reason
	m.Run.Attention = false // the store computes attention; here it only covers silence
	if reason == domain.WaitRetry {
		p.Retrying = MostAttempts(m.State)
	}
	if m.Run.Status == domain.RunRunning && m.runningSince != 0 {
		total := m.Run.RunningTime + runningFor(m, m.env.Monotonic)
		m.Run.RunningTime, p.RunningTime = total, &total
	}
	if m.Run.StartedAt.IsZero() && !m.beforeStart() && status != domain.RunQueued && status != domain.RunCancelled {
		m.setStarted()
		if m.Program.Start.Timeout > 0 {
			recordDue(m, status) // the time of the run begins
		}
	}
	message, node := statusMessage(m, status, reason, waits)
	headline := message.String()
	p.Headline, p.Message, p.Node = &headline, message, &node
	switch {
	case status == domain.RunRunning:
		m.runningSince = m.env.Monotonic
	case status.Final():
		finishRun(m, p)
	}
	failure := ""
	if status == domain.RunFailed && m.Program.Kind == walk.KindSteps && m.Run.Error != nil {
		failure = StepFailureReason(m.Program.Program, m.Run.Error)
	}
	m.next.Audit = append(m.next.Audit, failureRecord(m.Run.ID, status, reason, message, failure))
	m.Run.Status, m.Run.WaitReason, m.Run.Headline, m.Run.StatusMessage, m.Run.Node = status, reason, headline, message, node
	armDeadline(m)
	if status != domain.RunRunning {
		m.do(YieldSlot{})
	}
	m.doAfter(StatusChanged{status})
}

// recordPath adds settled visits to the path summary of the run.
func recordPath(m *Machine) {
	list := m.State.Settled
	if len(list) == 0 {
		return
	}
	if n := min(len(list), pathKept-len(m.path)); n > 0 {
		m.path = append(m.path, list[:n]...)
	}
	if n := min(len(list), maxPath-m.pathLen); n > 0 {
		m.patch().AddPath += pathOf(list[:n])
		m.pathLen += n
	}
	m.State.ForgetSettled()
}

func pathOf(list []Settled) string {
	letters := make([]byte, len(list))
	for i, d := range list {
		letters[i] = pathLetter(d.Status)
	}
	return string(letters)
}

func pathLetter(s domain.NodeStatus) byte {
	switch s {
	case domain.NodeFailed:
		return 'f'
	case domain.NodeSkipped:
		return 's'
	case domain.NodeCancelled:
		return 'x'
	}
	return 'c'
}

func (m *Machine) setPaused(on bool) { m.Run.Paused, m.patch().Paused = on, &on }

// setStarted records the start time of the run, before its first row.
func (m *Machine) setStarted() {
	at := m.env.Now
	for i := range m.next.Entries {
		e := &m.next.Entries[i]
		for _, t := range []time.Time{e.At, e.StartedAt} {
			if !t.IsZero() && t.Before(at) {
				at = t
			}
		}
	}
	m.Run.StartedAt, m.patch().StartedAt = at, &at
}

// recordDue records when the run is due, and arms its timer.
func recordDue(m *Machine, status domain.RunStatus) {
	m.dueDirty = false
	due := time.Time{}
	if !status.Final() {
		due = nextWaitEnd(m)
	}
	if !due.Equal(m.Run.DueAt) {
		at := due // the rest only concerns the timer
		m.patch().DueAt, m.Run.DueAt = &at, at
	}
	if status.Final() {
		m.do(ArmTimer{})
		return
	}
	m.do(ArmTimer{nextWake(m)})
}

// nextWake returns the time at which an unfinished run must be handled next. Zero means that other
// events end its waits.
func nextWake(m *Machine) time.Time {
	switch {
	case m.beforeStart():
		return m.Run.StartAt
	case m.State.Paused || m.State.Held || m.State.Quarantined:
		return time.Time{}
	}
	return waitEnd(m, func(w *Step) bool { return retriesSoon(m, w) || childOverdue(m, w) })
}

// nextWaitEnd returns the time at which the earliest wait ends, or the time of the run. It can be in the past
// while a child run is being cancelled, so that a restart cancels it again.
func nextWaitEnd(m *Machine) time.Time {
	return waitEnd(m, func(w *Step) bool { return retriesSoon(m, w) })
}

func waitEnd(m *Machine, quiet func(*Step) bool) time.Time {
	return earlier(budgetDue(m), earlier(deadline(m), m.State.NextDue(quiet)))
}

// retriesSoon reports whether a due retry is in the queue. It needs no timer, because it starts when a slot
// is free. A timer in the past would fire repeatedly until then.
func retriesSoon(m *Machine, w *Step) bool {
	return w.Reason == domain.WaitRetry && !w.Due.After(m.env.Now) && m.queue.contains(w.StepKey)
}

// finishRun completes the patch of a run that ends.
func finishRun(m *Machine, p *domain.RunPatch) {
	m.ended = true
	now := m.env.Now
	p.EndedAt, m.Run.EndedAt = &now, now
	out := m.State.Walk.Outcome()
	if out.Status == walk.Completed {
		raw, err := jsonvalue.EncodeWithin(out.Output, jsonvalue.MaxBytes)
		if err != nil || m.env.Storable != nil && m.env.Storable("", raw) != nil {
			raw = domain.RawJSON("null") // its parts can be stored, but the whole is nested too deep or too large
		}
		p.Output, m.Run.Output = raw, raw
		m.next.Memory = sessionMemory(m)
	}
	if f := out.Failure; f != nil {
		e := &domain.RunError{Code: f.Code, Message: f.Message, Text: f.Localize(), Node: f.Node}
		if f.CausedBy != nil { // an outage is one failure group, including calls that were not made
			e.Code, e.Message, e.Text = f.CausedBy.Code, f.CausedBy.Message, domain.DecodeMessage(&f.CausedBy.Text, f.CausedBy.Message)
		}
		p.Error, m.Run.Error = e, e
	}
}

// currentStatus returns the current status of the run.
func currentStatus(m *Machine) (domain.RunStatus, domain.WaitReason, []domain.Wait) {
	if out := m.State.Walk.Outcome(); out.Done {
		switch out.Status {
		case walk.Completed:
			return domain.RunCompleted, "", nil
		case walk.Cancelled:
			return domain.RunCancelled, "", nil
		}
		return domain.RunFailed, "", nil
	}
	if len(m.attempts) > 0 || m.starting {
		return domain.RunRunning, "", nil
	}
	// A step that becomes ready while the daemon is stopping is work for the next start. No one
	// would continue a waiting run without a due time.
	if !m.suspended() && m.Next(m.env.Now) != nil {
		if m.env.HasSlot {
			return domain.RunRunning, "", nil
		}
		return domain.RunQueued, "", nil
	}
	waits := m.State.Waits()
	if len(waits) > 0 {
		return domain.RunWaiting, waits[0].Reason, waits
	}
	if m.beforeStart() { // it was paused, and continues before its start time
		return domain.RunQueued, "", nil
	}
	return m.Run.Status, m.Run.WaitReason, nil
}

// statusMessage returns the status message of the run, and the node that it names.
func statusMessage(
	m *Machine,
	status domain.RunStatus,
	reason domain.WaitReason,
	waits []domain.Wait,
) (message domain.Message, node string) {
	switch status {
	case domain.RunRunning:
		first := NoItem
		for k := range m.attempts { // the smallest, because maps have no order
			if first == NoItem || k.Node < first {
				first = k.Node
			}
		}
		if first == NoItem {
			if k := m.Next(m.env.Now); k != nil {
				first = k.Node
			}
		}
		if first != NoItem {
			node = m.Program.Nodes[first].ID
		}
		return domain.Verbatim(node), node
	case domain.RunFailed:
		return FailureMessage(m.State)
	case domain.RunCompleted:
		return CompletedMessage(m.State)
	case domain.RunCancelled:
		return CancelledMessage(m.State)
	case domain.RunWaiting:
		if len(waits) == 0 {
			return message, ""
		}
		if reason == domain.WaitRetry {
			return RetryMessage(m.State, waits[0])
		}
		return WaitMessage(reason, waits)
	}
	return message, ""
}

// handle records that the run shows no activity, or shows activity again.
func (ev *Silence) handle(m *Machine) error {
	on := !ev.Since.IsZero()
	if m.ended || m.Run.Status != domain.RunRunning || on == m.Run.Attention || on && len(m.attempts) == 0 {
		return nil
	}
	m.Run.Attention = on
	message, node := statusMessage(m, domain.RunRunning, "", nil)
	if on {
		message, node = domain.Messagef("%s has not responded since %s", ev.Node, ev.Since), ev.Node
	}
	headline := message.String()
	p := m.patch()
	p.Silent, p.Headline, p.Message, p.Node = &on, &headline, message, &node
	m.Run.Headline, m.Run.StatusMessage, m.Run.Node = headline, message, node
	return nil
}

// handle records a clean shutdown, so that the next start does not count a crash.
func (Shutdown) handle(m *Machine) error {
	if len(m.attempts) == 0 && !m.ended && !m.State.CleanStop && m.Run.Status == domain.RunRunning {
		m.addActionRow(RunActionDecision{Action: RunActionStop}, domain.System.Name, "kairosd was stopped")
	}
	return nil
}
