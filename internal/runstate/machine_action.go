package runstate

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// Conflict returns the error of an action that is not possible in the current status of the run.
func (m *Machine) Conflict(format string, args ...any) *domain.Error {
	return domain.Errorf(domain.CodeConflict, "%s; %s", domain.Messagef(format, args...), domain.RunIs(m.Run.Status, m.Run.WaitReason))
}

// CheckRevision returns an error if the run has changed since the revision. Rows of Recover do not
// count as a change.
func (m *Machine) CheckRevision(rev int64) error {
	if rev == 0 || rev == m.State.Seq || rev == m.loaded && m.State.Seq == m.recovered {
		return nil
	}
	return domain.RunChanged(rev, m.State.Seq)
}

// JustRecovered reports whether only Recover has changed the run, and a preview showed that change.
func (m *Machine) JustRecovered() bool { return m.announced && m.State.Seq == m.recovered }

func (ev *OperatorAction) handle(m *Machine) error {
	r := ev.Request
	if err := m.CheckRevision(r.Rev); err != nil {
		return err
	}
	if m.ended && r.Action != domain.ActionResume && r.Action != domain.ActionDelete {
		return m.Conflict("nothing to %s", r.Action)
	}
	record := domain.AuditRecord{Action: "run." + string(r.Action), Actor: ev.Actor.Name, Source: ev.Actor.Source,
		Request: ev.Actor.Request, Run: m.Run.ID, Reason: r.Reason}
	var err error
	switch r.Action {
	case domain.ActionCancel:
		err = ev.cancel(m)
	case domain.ActionPause:
		err = ev.pause(m)
	case domain.ActionUnpause:
		err = ev.resumePaused(m)
	case domain.ActionRetryNow:
		err = ev.retryNow(m)
	case domain.ActionRelease:
		err = ev.release(m)
	case domain.ActionStartNow:
		err = ev.startNow(m)
	case domain.ActionLimits:
		err = ev.limits(m, &record)
	case domain.ActionDelete:
		err = ev.delete(m)
	case domain.ActionResume:
		if !m.ended {
			err = ev.resumeWaiting(m)
			break
		}
		if ev.Reset == nil {
			return m.Conflict("nothing to %s", r.Action)
		}
		ev.resumeEnded(m, record)
		return nil
	}
	if err != nil {
		return err
	}
	m.record(r.Receipt, m.Run.ID, record)
	return nil
}

// row appends the row of an action.
func (ev *OperatorAction) row(m *Machine, p RunActionDecision) {
	m.separate()
	m.addActionRow(p, ev.Actor.Name, ev.Request.Reason)
}

func (ev *OperatorAction) cancel(m *Machine) error {
	if m.State.Cancelled {
		e := m.Conflict("the run is being cancelled already")
		e.Reason = domain.ReasonCancelling
		return e
	}
	if m.beforeStart() && len(m.Program.Finally) > 0 {
		m.setStarted() // the finally steps start now
	}
	ev.row(m, RunActionDecision{Action: RunActionCancel})
	if m.Run.Paused {
		m.setPaused(false)
	}
	cancelOpen(m)
	return nil
}

func (ev *OperatorAction) pause(m *Machine) error {
	if m.State.Paused {
		return m.Conflict("the run is already paused")
	}
	ev.row(m, RunActionDecision{Action: RunActionPause})
	m.setPaused(true)
	return nil
}

func (ev *OperatorAction) resumePaused(m *Machine) error {
	if !m.State.Paused {
		return m.Conflict("the run is not paused")
	}
	ev.row(m, RunActionDecision{Action: RunActionUnpause})
	m.setPaused(false)
	endWaits(m)
	return nil
}

func (ev *OperatorAction) retryNow(m *Machine) error {
	if !m.State.HasWait(domain.WaitRetry) {
		return m.Conflict("no retry is pending")
	}
	ev.row(m, RunActionDecision{Action: RunActionRetryNow})
	endWaits(m)
	return nil
}

func (ev *OperatorAction) release(m *Machine) error {
	if !m.State.Quarantined && !m.State.Held {
		return m.Conflict("the run is neither held nor quarantined")
	}
	ev.row(m, RunActionDecision{Action: RunActionRelease})
	reopenReleased(m)
	endWaits(m)
	return nil
}

// reopenReleased reopens the requests and child runs that a held or quarantined run waits for.
func reopenReleased(m *Machine) {
	reopenApprovals(m)
	checkChildren(m) // nothing watched them while the run was quarantined
}

func (ev *OperatorAction) startNow(m *Machine) error {
	if !m.beforeStart() {
		return m.Conflict("the run is not scheduled")
	}
	ev.row(m, RunActionDecision{Action: RunActionStartNow})
	m.setStarted()
	endWaits(m)
	return nil
}

func (ev *OperatorAction) limits(m *Machine, record *domain.AuditRecord) error {
	limits, err := RaisedLimits(m.Run.Limits, m.spent(), ev.Request)
	if err != nil {
		return err
	}
	record.Detail = domain.ChangeDetail(domain.ViewLimits(m.Run.Limits), domain.ViewLimits(limits))
	ev.row(m, RunActionDecision{Action: RunActionLimits, Limits: &limits})
	m.Run.Limits, m.patch().Limits = limits, &limits
	if labels := ev.Request.Labels; len(labels) > 0 {
		p := m.patch()
		if p.AddLabels == nil {
			p.AddLabels = map[string]string{}
		}
		maps.Copy(p.AddLabels, labels)
		given := domain.LabelRecord(m.Run.ID, labels, ev.Request.Reason)
		given.Actor, given.Source, given.Request = ev.Actor.Name, ev.Actor.Source, ev.Actor.Request
		m.next.Audit = append(m.next.Audit, given)
	}
	m.budget = domain.Message{}
	armDeadline(m)
	m.do(FreeCalls{})
	return nil
}

func (ev *OperatorAction) delete(m *Machine) error {
	if !m.ended {
		return m.Conflict("only a finished run can be deleted").Suggest("cancel it first")
	}
	if !m.Run.DeletedAt.IsZero() {
		return m.Conflict("the run was already deleted")
	}
	now := m.env.Now
	m.patch().DeletedAt, m.Run.DeletedAt = &now, now
	return nil
}

// resumeEnded resumes a failed or cancelled run.
func (ev *OperatorAction) resumeEnded(m *Machine, record domain.AuditRecord) {
	m.add(domain.Entry{Kind: domain.EntryReset, Item: NoItem, Actor: ev.Actor.Name, Reason: ev.Request.Reason, At: m.env.Now,
		Decision: MustJSON(ev.Reset)})
	if ev.Options != nil {
		m.addActionRow(RunActionDecision{Action: RunActionOptions, Options: ev.Options}, ev.Actor.Name, ev.Request.Reason)
	}
	p := m.patch()
	p.ClearError, p.EndedAt = true, &time.Time{}
	m.Run.Error, m.Run.EndedAt, m.ended = nil, time.Time{}, false
	m.budget, m.dueDirty = domain.Message{}, true
	undone := undoneVisits(m.State, ev.Reset)
	m.path = slices.DeleteFunc(m.path, func(d Settled) bool { return undone[walk.VisitKey{Node: d.Node, Visit: d.Visit}] })
	path := pathOf(m.path[:min(len(m.path), maxPath)])
	p.Path, m.pathLen = &path, len(path)
	m.State.ForgetSettled()
	// The run leaves its final status before anything runs. It may end again at once if everything
	// that was left has completed since.
	p.Status = domain.RunQueued
	m.Run.Status, m.Run.WaitReason = domain.RunQueued, ""
	m.record(ev.Request.Receipt, m.Run.ID, record)
	m.next.Audit = append(m.next.Audit, StatusRecord(m.Run.ID, domain.RunQueued, "", domain.Message{}))
	m.reopening = true
	m.complete()
	m.reopening = false
	cancelLosers(m) // a step that had failed the run may run again in a race that another one has won since
}

// ResumeActions returns the action rows of resuming a run that has not ended. It is empty if there is
// nothing to resume.
func ResumeActions(s *State) []string {
	var actions []string
	if s.Quarantined || s.Held {
		actions = append(actions, RunActionRelease)
	}
	if s.Paused {
		actions = append(actions, RunActionUnpause)
	}
	if s.Budget != nil && (s.Budget.Code == domain.CodePrice || s.Budget.Shared != nil) {
		actions = append(actions, RunActionBudgetRetry)
	}
	if s.HasWait(domain.WaitRetry) {
		actions = append(actions, RunActionRetryNow)
	}
	return actions
}

// resumeWaiting ends all waits of the run that a person may end.
func (ev *OperatorAction) resumeWaiting(m *Machine) error {
	actions := ResumeActions(m.State)
	if len(actions) == 0 {
		if (m.JustRecovered() || ev.Unattended) && len(m.attempts) == 0 {
			return nil // it continues from here
		}
		if b := m.State.Budget; b != nil {
			return m.Conflict("%s", b.Message).Suggest("raise the limit")
		}
		if waits := m.State.Waits(); m.Run.Status == domain.RunWaiting && len(waits) > 0 {
			text, _ := WaitMessage(waits[0].Reason, waits)
			return m.Conflict("nothing to resume: %s", text)
		}
		return m.Conflict("the run is not stopped")
	}
	for _, action := range actions {
		ev.row(m, RunActionDecision{Action: action})
		switch action {
		case RunActionRelease:
			reopenReleased(m) //seed:resume-reopens
		case RunActionUnpause:
			m.setPaused(false)
		}
	}
	endWaits(m)
	return nil
}

func (ev *StepResolved) handle(m *Machine) error {
	r := ev.Request
	if err := m.CheckRevision(r.Rev); err != nil {
		return err
	}
	i, ok := m.Program.Index[r.Node]
	if !ok {
		return domain.Errorf(domain.CodeNotFound, "the plan has no step %q", r.Node)
	}
	k := StepKey{walk.VisitKey{Node: i, Visit: max(r.Visit, 1)}, r.Item}
	if m.Program.Nodes[i].Foreach == nil {
		k.Item = NoItem // clients may omit it
	}
	w, d := m.State.Open[k], m.State.Doubts[k]
	attempt, calls := 0, []domain.OpenCall(nil)
	switch {
	case w != nil && w.Phase == PhaseInDoubt:
		attempt, calls = w.Attempt, w.OpenCalls()
	case d != nil && d.Resolution == nil:
		attempt, calls = d.Attempt, d.Calls
	default:
		return m.Conflict("iteration %d of step %q is not in doubt", k.Visit, r.Node)
	}
	if r.Attempt != 0 && r.Attempt != attempt {
		return domain.Errorf(domain.CodeStale, "attempt %d is in doubt, not attempt %d", attempt, r.Attempt).
			Suggest("reload it and try again")
	}
	m.separate()
	e := m.entry(domain.EntryResolve, k)
	e.Decision, e.Attempt, e.Actor, e.Reason = ResolveDecision{Action: r.Action}.JSON(), attempt, ev.Actor.Name, r.Reason
	if r.Action == ActionHappened {
		e.Output = r.Output
		if len(e.Output) == 0 {
			e.Output = domain.RawJSON("null")
		}
	}
	m.add(e)
	about := map[string]any{"action": r.Action, "visit": k.Visit, "attempt": attempt}
	if len(calls) > 0 {
		about["calls"] = calls
	}
	m.record(r.Receipt, m.Run.ID, domain.AuditRecord{Action: "node.resolve", Actor: ev.Actor.Name, Source: ev.Actor.Source,
		Request: ev.Actor.Request, Run: m.Run.ID, Object: "node:" + r.Node, Reason: r.Reason, Detail: detail(about)})
	if w != nil {
		applyResolution(m, w, Resolution{Action: r.Action, Output: e.Output})
	}
	return nil
}

// applyResolution applies a person's resolution to a step.
func applyResolution(m *Machine, w *Step, resolution Resolution) {
	w.Resolution = nil
	switch resolution.Action {
	case ActionHappened:
		out, err := Decode(resolution.Output)
		if err != nil {
			out = nil // it was checked when it was given
		}
		m.final(w, domain.NodeCompleted, out, nil, func(e *domain.Entry) { e.Reason = cmp.Or(resolution.Given, ReasonHappened) })
	case ActionSkip:
		m.final(w, domain.NodeSkipped, nil, nil, func(e *domain.Entry) { e.Reason = ReasonSkipped })
	case ActionFail:
		f := w.Failure
		if f == nil || f.Code == CodeInterrupted {
			f = (&domain.Failure{Code: walk.CodeFailed}).WithMessage(ReasonFailed)
		}
		m.final(w, domain.NodeFailed, nil, f, func(e *domain.Entry) { e.Reason = ReasonFailed })
	case ActionRetry:
		m.queue.push(w.StepKey)
	}
	m.dueDirty = true
}

// StatusRecord returns the audit record of a status change of a run.
func StatusRecord(run string, status domain.RunStatus, reason domain.WaitReason, message domain.Message) domain.AuditRecord {
	return failureRecord(run, status, reason, message, "")
}

// failureRecord is StatusRecord with the reason why a step plan failed.
func failureRecord(run string, status domain.RunStatus, reason domain.WaitReason, message domain.Message,
	failure string) domain.AuditRecord {
	d := map[string]any{"status": status}
	if reason != "" {
		d["waitReason"] = reason
	}
	if headline := strings.ToValidUTF8(ClipText(message.String(), 500), ""); headline != "" {
		d["statusMessage"] = headline
	}
	if stored := message.Encode(); stored != "" {
		d["message"] = stored
	}
	if failure != "" {
		d["failureReason"] = failure
	}
	return domain.AuditRecord{Action: "run.status", Actor: domain.System.Name, Source: domain.System.Source, Run: run, Detail: detail(d)}
}
