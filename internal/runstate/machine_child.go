package runstate

import (
	"errors"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// codeChildFailed is the failure code of a plan step whose child run failed.
const codeChildFailed = "child_failed"

// handle makes a plan step wait for its child run. The ID of the child depends only on the visit,
// so that creating it again after a crash finds the same run.
func (ev *ChildReady) handle(m *Machine) error {
	preparing(m, ev.StepKey, func(w *Step) {
		input, failure := m.State.Walk.Input(w.VisitKey, w.Item)
		if failure != nil {
			m.refuse(w, failure)
			return
		}
		node := &m.Program.Nodes[w.Node]
		child := DerivedID("child", m.Run.ID, m.State.IdempotencyName(node.ID), w.Visit, w.Item, w.Retries)
		resume := w.Attempt > 0 // an earlier opening of this visit may have created it
		limit := m.State.WithOverrides(w.VisitKey, node).Timeout
		addWait(m, w, domain.WaitChild, input, func(e *domain.Entry) {
			if e.Ref = child; limit > 0 {
				e.DueAt = e.At.Add(max(limit.Truncate(time.Microsecond), time.Microsecond))
			}
		})
		m.doAfter(startChild(m, w, ev.Hash, resume))
	})
	return nil
}

// childOverdue reports whether the timeout of a step has passed that waits for its child run.
func childOverdue(m *Machine, w *Step) bool {
	return w.Phase == PhaseWaiting && w.Reason == domain.WaitChild && !w.Due.IsZero() && !w.Due.After(m.env.Now)
}

// startChild returns the task that creates the child run of a step.
func startChild(m *Machine, w *Step, hash string, resume bool) StartChild {
	return StartChild{ID: w.Ref, Hash: hash, Input: w.Input, Resume: resume, Parent: domain.ParentRef{Run: m.Run.ID,
		Node: m.Program.Nodes[w.Node].ID, Visit: w.Visit, Item: w.Item, Attempt: w.Attempt}}
}

// childTasks returns the tasks that the child runs need at this point. A child may have ended, or
// may never have been created, while this run was not active. Children that no step waits for are
// cancelled, because a crash may have prevented that.
func childTasks(m *Machine) []Task {
	var list []Task
	if m.Program.HasPlans || m.State.ReplanCount > 0 { // otherwise the run has no children
		list = append(list, CancelOtherChildren{})
	}
	var needed []string
	for _, w := range m.State.OpenSteps() {
		if w.Phase != PhaseWaiting || w.Reason != domain.WaitChild {
			continue
		}
		needed = append(needed, w.Ref)
		if hash := childVersion(m.State, w); hash != "" {
			list = append(list, startChild(m, w, hash, false))
		}
	}
	if len(needed) > 0 {
		if _, ok := list[0].(CancelOtherChildren); ok {
			list[0] = CancelOtherChildren{needed}
		}
	}
	return list
}

func checkChildren(m *Machine) {
	for _, task := range childTasks(m) {
		m.do(task)
	}
}

func (CheckChildren) handle(m *Machine) error {
	checkChildren(m)
	return nil
}

// handle settles the step that waits for a child run.
func (ev *ChildEnded) handle(m *Machine) error {
	w := m.State.WaitingFor(ev.ID)
	if w == nil || w.Reason != domain.WaitChild || ev.Err == nil && !ev.Child.Status.Final() {
		return nil
	}
	node := &m.Program.Nodes[w.Node]
	overdue := childOverdue(m, w) && ev.CancelledHere
	if hash := childVersion(m.State, w); ev.CancelledHere && ev.Err == nil && ev.Refused == nil && hash != "" &&
		!m.State.StoppedWithRun(w) && !overdue {
		// The run was resumed before its cancellation had reached the child.
		m.do(startChild(m, w, hash, true))
		return nil
	}
	m.separate()
	e := m.entry(domain.EntryResolve, w.StepKey)
	e.Decision, e.Ref, e.Attempt, e.Actor = ResolveDecision{Action: ActionChild, Run: ev.ID}.JSON(), ev.ID, w.Attempt, domain.System.Name
	err := ev.Err
	if err == nil {
		e.Status = domain.NodeStatus(ev.Child.Status)
	}
	fill := func(e *domain.Entry) {
		e.Usage, e.Ref, e.StartedAt, e.Effect = ev.Child.Usage, ev.ID, w.Since, string(walk.EffectControl)
	}
	if err == nil && ev.Child.Status == domain.RunCompleted {
		var out any
		if out, err = Decode(ev.Child.Output); err == nil {
			m.add(e)
			m.final(w, domain.NodeCompleted, out, nil, fill)
			return nil
		}
	}
	plan, _ := walk.ChildPlan(m.State.Walk, w.VisitKey, w.Item)
	f := ev.failure(node, plan, err)
	node = m.State.WithOverrides(w.VisitKey, node)
	if overdue && f.Code == walk.CodeChildCancelled {
		f.Code, f.Permanent = walk.CodeTimeout, ev.InDoubt
		f.WithMessage("timed out after %s; %s", node.Timeout, f.Localize())
	}
	m.dueDirty = true
	m.add(e)
	if most, _ := node.Retries(f.Code); f.Permanent || m.State.StoppedWithRun(w) || w.FailedAttempts+1 >= most {
		m.final(w, domain.NodeFailed, nil, f, fill)
		return nil
	}
	m.attemptContinues(w, domain.NodeFailed, f, "", func(e *domain.Entry) { fill(e); e.Attempt = w.Attempt })
	scheduleRetry(m, node, w, f)
	return nil
}

// failure returns the failure of a step whose child run of a plan has not completed. err is the reason why
// the child cannot run or be read.
func (ev *ChildEnded) failure(node *walk.ProgramNode, name string, err error) *domain.Failure {
	f := &domain.Failure{Code: codeChildFailed, Node: node.ID}
	plan := domain.Messagef("plan %s", name)
	if node.Block != nil {
		plan = domain.Messagef("block %s", node.ID)
	}
	switch {
	case err != nil:
		f.Permanent = true
		return f.WithMessage("%s cannot run: %s", plan, err)
	case ev.Child.Status == domain.RunCancelled:
		f.Code = walk.CodeChildCancelled
		f.WithMessage("run %s of %s was cancelled", domain.ShortID(ev.ID), plan)
	case ev.Child.Error != nil:
		if node.Block != nil { // rules and edges of the step refer to the failure inside the block
			f.Code = ev.Child.Error.Code
		}
		f.WithMessage("run %s of %s failed: %s", domain.ShortID(ev.ID), plan, ev.Child.Error.Localize())
	default:
		f.WithMessage("run %s of %s failed", domain.ShortID(ev.ID), plan)
	}
	if ev.Refused != nil {
		// Another run could repeat an effect that may have happened.
		if refusal, ok := errors.AsType[*domain.Error](ev.Refused); ok && refusal.Reason == domain.ReasonInDoubt {
			f.Permanent = true
			return f.WithMessage("%s; it cannot be resumed: %s. Fix that, then resume this run", f.Localize(), ev.Refused)
		}
		return f.WithMessage("%s; it cannot be resumed: %s", f.Localize(), ev.Refused)
	}
	return f
}
