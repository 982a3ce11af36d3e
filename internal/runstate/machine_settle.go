package runstate

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// final settles a step. The walk decides the row, and the row joins the checkpoint. fill may set
// more fields of the row. Each finished step has its own checkpoint.
func (m *Machine) final(w *Step, status domain.NodeStatus, out any, f *domain.Failure, fill func(*domain.Entry)) {
	m.separate()
	if status == domain.NodeFailed && mayReplan(m, w, f) {
		awaitReplan(m, w, f, fill)
		return
	}
	m.settle(w, status, out, f, fill)
	m.settled()
}

// settled ends the part of a checkpoint that a final row begins.
func (m *Machine) settled() {
	m.hasFinal = true
	cancelLosers(m)
	if m.State.Walk.Stopping() && !m.State.Cancelled {
		cancelWaiting(m)
	}
}

// settle appends a final row without starting a checkpoint.
func (m *Machine) settle(w *Step, status domain.NodeStatus, out any, f *domain.Failure, fill func(*domain.Entry)) {
	m.next.Entries = append(m.next.Entries, m.entry(domain.EntryResult, w.StepKey))
	e := &m.next.Entries[len(m.next.Entries)-1]
	e.Final, e.Status, e.Failure, e.Attempt = true, status, f, w.Attempt
	if fill != nil {
		fill(e)
	}
	if status == domain.NodeCompleted && e.Output == nil {
		raw, err := jsonvalue.EncodeWithin(out, jsonvalue.MaxBytes)
		e.Output = raw
		if err != nil {
			e.Failure = OutputFailure(e.Node, err)
		} else if m.env.Storable != nil {
			e.Failure = m.env.Storable(e.Node, raw)
		}
		if e.Failure != nil {
			e.Status, e.Output, out = domain.NodeFailed, nil, nil
		}
	}
	if e.Status == domain.NodeFailed && e.Failure != nil && e.Failure.Node == "" {
		named := *e.Failure // the failure of the event is not changed
		named.Node = e.Node
		e.Failure = &named
	}
	e.Seq = m.State.Seq + 1
	recordHandoff(m, e)
	if _, err := m.State.Settle(e, w.StepKey, out, m.env.Now); err != nil {
		panic(fmt.Sprintf("runstate: run %s: %v", m.Run.ID, err))
	}
	recordMessages(m, e)
	recordSkill(m, w, e)
	m.patch().AddSteps++
	m.Run.Steps++
	m.use(e.Usage)
}

// recordSkill records the measurement of a skill after a successful attempt.
func recordSkill(m *Machine, w *Step, e *domain.Entry) {
	node := &m.Program.Nodes[w.Node]
	if node.Skill == "" && node.Agent == "" || m.Run.Dry() || e.Status != domain.NodeCompleted || e.StartedAt.IsZero() {
		return
	}
	used := w.Usage.Add(e.Usage)
	m.next.SkillRuns = append(m.next.SkillRuns, domain.SkillRun{Skill: node.Skill, Bound: cmp.Or(node.Agent, node.Tool, node.TypeName),
		Time: e.At.Sub(e.StartedAt), Tokens: used.InputTokens + used.OutputTokens, At: e.At})
}

// settleForeach settles a whole foreach visit, because its list is empty or invalid, or no item
// will start.
func settleForeach(m *Machine, v walk.VisitKey, status domain.NodeStatus, out any, f *domain.Failure) {
	if status != domain.NodeCancelled {
		m.separate()
	}
	m.settle(&Step{StepKey: foreachKey(v)}, status, out, f, func(e *domain.Entry) {
		if status != domain.NodeCancelled { // otherwise none of its items has begun
			e.Effect, e.StartedAt = string(walk.EffectPure), m.env.Now
		}
	})
	m.settled()
}

// cancelWaiting cancels waiting visits and pending retries of a stopping run. Attempts in doubt
// stay until a person resolves them.
func cancelWaiting(m *Machine) {
	for _, w := range m.State.OpenSteps() {
		if w.Phase == PhaseWaiting && m.State.StoppedWithRun(w) && m.attempts[w.StepKey] == nil && m.State.Open[w.StepKey] == w {
			cancelStep(m, w)
		}
	}
}

// cancelLosers cancels the open steps that have lost a race.
func cancelLosers(m *Machine) {
	if !m.Program.Races {
		return
	}
	for _, w := range m.State.OpenSteps() {
		if m.State.Open[w.StepKey] != w || !walk.Lost(m.State.Walk, w.Node) {
			continue
		}
		switch t := m.attempts[w.StepKey]; {
		case t != nil:
			m.doAfter(CancelAttempt{t, StopCancelled})
		case w.Phase == PhaseInDoubt:
			m.settle(w, domain.NodeCancelled, nil, w.Failure, nil) // the doubt stays
			m.hasFinal = true
		default:
			cancelStep(m, w)
			m.hasFinal = true
		}
	}
}

// isCancelled reports whether a step must end because its run was cancelled, or because it has lost a race.
func isCancelled(m *Machine, w *Step) bool {
	return m.State.Cancelled || walk.Lost(m.State.Walk, w.Node)
}

// cancelStep settles an open step as cancelled and ends its wait.
func cancelStep(m *Machine, w *Step) {
	withdraw(m, w, domain.System.Name, domain.Message{})
	m.dueDirty = true
	m.settle(w, domain.NodeCancelled, nil, nil, nil)
}

// withdraw ends the wait of a step.
func withdraw(m *Machine, w *Step, by string, why domain.Message) {
	if w.Phase != PhaseWaiting {
		return
	}
	switch w.Reason {
	case domain.WaitApproval:
		closeApproval(m, w, by, why)
	case domain.WaitChild:
		m.doAfter(CancelChild{ID: w.Ref})
	case domain.WaitSignal:
		endSignalWait(m, w, "")
	}
}

// cancelOpen settles everything that is not running, and stops running attempts.
func cancelOpen(m *Machine) {
	for _, t := range m.attemptsInOrder() {
		m.do(CancelAttempt{t, StopCancelled})
	}
	for _, w := range m.State.OpenSteps() {
		if m.attempts[w.StepKey] != nil {
			continue
		}
		if w.Phase == PhaseInDoubt {
			m.settle(w, domain.NodeCancelled, nil, w.Failure, nil) // the doubt stays
			continue
		}
		cancelStep(m, w)
	}
	closeForeach(m)
	m.hasFinal = len(m.next.Entries) > 0
}

// closeForeach settles foreach visits of a cancelled run that have no open item and will start
// none.
func closeForeach(m *Machine) {
	if !m.State.Cancelled {
		return
	}
	for _, v := range m.State.OpenForeach() {
		if f := m.State.Foreach[v]; f != nil && f.OpenItems == 0 {
			settleForeach(m, v, domain.NodeCancelled, nil, nil)
		}
	}
}

// attemptContinues appends the row of an attempt that ended without settling its step.
func (m *Machine) attemptContinues(w *Step, status domain.NodeStatus, f *domain.Failure, reason string, fill func(*domain.Entry)) {
	e := m.entry(domain.EntryResult, w.StepKey)
	e.Status, e.Failure, e.Reason = status, f, reason
	fill(&e)
	m.add(e)
}

// fillWhole fills the only row of an attempt that began and ended in one decision.
func (m *Machine) fillWhole(w *Step) func(*domain.Entry) {
	return func(e *domain.Entry) {
		e.Attempt, e.Effect, e.StartedAt = w.Attempt+1, string(walk.EffectPure), m.env.Now
	}
}

// refuse fails a step before it begins.
func (m *Machine) refuse(w *Step, f *walk.Failure) {
	f.Permanent, f.NoEffect = true, true
	m.final(w, domain.NodeFailed, nil, FromPlanner(f, m.Program.Nodes[w.Node].ID), m.fillWhole(w))
	m.complete()
}

// OutputFailure returns the failure of an output that cannot be stored.
func OutputFailure(node string, err error) *domain.Failure {
	if errors.Is(err, jsonvalue.ErrTooLarge) {
		return (&domain.Failure{Code: walk.CodeOutputTooLarge, Node: node, Permanent: true,
			Suggestion: "write large data to a file and output its path"}).
			WithMessage("output of node %q exceeds %d MiB", node, jsonvalue.MaxBytes>>20)
	}
	return (&domain.Failure{Code: walk.CodeOutput, Node: node, Permanent: true}).WithMessage("output of node %q: %s", node, err)
}

// InputFailure returns the failure of an input that cannot be stored.
func InputFailure(node string, err error) *walk.Failure {
	f := (&walk.Failure{Code: walk.CodeInvalidInput, Node: node, Permanent: true, NoEffect: true}).
		WithMessage("input of node %q: %s", node, err)
	if errors.Is(err, jsonvalue.ErrTooLarge) {
		f.WithMessage("input of node %q exceeds %d MiB", node, jsonvalue.MaxBytes>>20)
		f.Suggestion = "write large data to a file and pass its path"
	}
	return f
}
