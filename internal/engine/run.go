package engine

import (
	"cmp"
	"fmt"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// nothingToDo reports that a granted slot is of no use: the run waits again.
func (a *runner) nothingToDo() bool {
	a.ready.collect(a.s)
	return a.run.Status == domain.RunWaiting && len(a.running) == 0 && (a.blocked() || a.ready.peek(a.s) == nil)
}

// advance starts everything that may start.
func (a *runner) advance() {
	a.considerReplan()
	a.budget = ""
	for !a.blocked() && !a.e.maintenance.Load() && !a.inbox.filled.Load() && a.pipe.unacked() < a.ahead() {
		k := a.ready.peek(a.s)
		if k == nil {
			return
		}
		if why := a.overBudget(*k); why != "" {
			if a.budget = why; len(a.running) == 0 { // else what runs may end without using it up
				a.outOfBudget(&budgetError{message: why})
			}
			return
		}
		if !a.slots.take(&a.run) || !a.dispatch(*k) {
			return
		}
	}
}

// due handles waits that have ended by themselves.
func (a *runner) due() {
	a.dueDirty = true
	if a.s.Paused || a.s.Held || a.s.Quarantined || a.ended {
		return // due timers start nothing
	}
	now := a.e.now()
	for _, w := range a.s.OpenSteps() {
		if w.Phase != runstate.PhaseWaiting || w.Due.IsZero() || w.Due.After(now) {
			continue
		}
		switch w.Reason {
		case domain.WaitRetry:
			if !a.ready.contains(w.StepKey) {
				a.ready.push(w.StepKey)
			}
		case domain.WaitTimer:
			a.final(w, domain.NodeCompleted, a.s.Walk.Last(w.VisitKey), nil, nil)
		case domain.WaitApproval:
			a.approvalExpired(w)
		}
	}
}

// entry begins a row about a piece of work; seq is assigned by add.
func (a *runner) entry(kind domain.EntryKind, k runstate.StepKey) domain.Entry {
	return domain.Entry{Kind: kind, Node: a.prog.Nodes[k.Node].ID, Visit: k.Visit, Item: k.Item, At: a.e.now()}
}

// add appends a row to the checkpoint being put together and applies it.
func (a *runner) add(e domain.Entry) {
	e.Seq = a.s.Seq + 1
	if err := a.s.Apply(&e); err != nil {
		// A row that this code just made contradicts the state: a defect here,
		// which must not be written.
		panic(fmt.Sprintf("engine: run %s: %v", a.id, err))
	}
	a.pipe.next.Entries = append(a.pipe.next.Entries, e)
	a.handOff(&e)
	a.converse(&e)
	a.use(e.Usage)
}

// verbRow appends a row about the run.
func (a *runner) verbRow(p runstate.VerbDecision, actor, reason string) {
	a.add(domain.Entry{Kind: domain.EntryVerb, Item: runstate.NoItem, Decision: p.JSON(), Actor: actor, Reason: reason, At: a.e.now()})
}

func patchOf(c *domain.Checkpoint) *domain.RunPatch {
	if c.Patch == nil {
		c.Patch = &domain.RunPatch{}
	}
	return c.Patch
}

// final settles a visit or item: the row is decided by the walk and joins the
// checkpoint. fill may set more of the row's fields. One finished node is one
// checkpoint, so a row that waits to be handed over goes first.
func (a *runner) final(w *runstate.Step, status domain.NodeStatus, out any, f *domain.Failure, fill func(*domain.Entry)) {
	if a.pipe.hasFinal {
		a.flush()
	}
	if status == domain.NodeFailed && a.replans(w) {
		a.awaitReplan(w, f, fill)
		return
	}
	a.settle(w, status, out, f, fill)
	a.pipe.hasFinal = true
	if a.s.Walk.Stopping() && !a.s.Cancelled {
		a.cancelWaiting()
	}
}

// settle appends a final row without regard to where checkpoints begin.
func (a *runner) settle(w *runstate.Step, status domain.NodeStatus, out any, f *domain.Failure, fill func(*domain.Entry)) {
	a.pipe.next.Entries = append(a.pipe.next.Entries, a.entry(domain.EntryResult, w.StepKey))
	e := &a.pipe.next.Entries[len(a.pipe.next.Entries)-1]
	e.Final, e.Status, e.Failure, e.Attempt = true, status, f, w.Attempt
	if fill != nil {
		fill(e)
	}
	if status == domain.NodeCompleted && e.Output == nil {
		raw, err := jsonvalue.EncodeWithin(out, jsonvalue.MaxBytes)
		if err != nil {
			e.Status, e.Failure, out = domain.NodeFailed, outputFailure(e.Node, err), nil
		} else {
			e.Output = raw
		}
	}
	if e.Status == domain.NodeFailed && e.Failure != nil && e.Failure.Node == "" {
		e.Failure.Node = e.Node
	}
	e.Seq = a.s.Seq + 1
	a.handOff(e)
	if _, err := a.s.Settle(e, w.StepKey, out, a.e.now()); err != nil {
		panic(fmt.Sprintf("engine: run %s: %v", a.id, err))
	}
	a.converse(e)
	a.measure(w, e)
	patchOf(&a.pipe.next).AddSteps++
	a.run.Steps++
	a.use(e.Usage)
}

// measure tells what a skill took that an attempt has completed.
func (a *runner) measure(w *runstate.Step, e *domain.Entry) {
	node := &a.prog.Nodes[w.Node]
	if node.Skill == "" && node.Agent == "" || a.run.Dry() || e.Status != domain.NodeCompleted || e.StartedAt.IsZero() {
		return
	}
	used := w.Usage.Add(e.Usage)
	a.pipe.next.Measured = append(a.pipe.next.Measured, domain.SkillRun{Skill: node.Skill, Bound: cmp.Or(node.Agent, node.Tool, node.TypeName),
		Time: e.At.Sub(e.StartedAt), Tokens: used.InputTokens + used.OutputTokens, At: e.At})
}

// use counts what a row used.
func (a *runner) use(u domain.Usage) {
	if u.Zero() {
		return
	}
	p := patchOf(&a.pipe.next)
	p.AddUsage = p.AddUsage.Add(u)
	a.run.Usage = a.run.Usage.Add(u)
}

// settleVisit settles a foreach visit as a whole: its list is empty, cannot be
// read, or no item will start.
func (a *runner) settleVisit(v walk.VisitKey, status domain.NodeStatus, out any, f *domain.Failure) {
	if a.pipe.hasFinal && status != domain.NodeCancelled {
		a.flush()
	}
	now := a.e.now()
	a.settle(&runstate.Step{StepKey: runstate.StepKey{VisitKey: v, Item: runstate.NoItem}}, status, out, f, func(e *domain.Entry) {
		if status != domain.NodeCancelled { // else nothing of it has begun
			e.Effect, e.StartedAt = string(walk.EffectPure), now
		}
	})
	a.pipe.hasFinal = true
	if a.s.Walk.Stopping() && !a.s.Cancelled {
		a.cancelWaiting()
	}
}

// cancelWaiting cancels visits that wait and pending retries, because the run
// is stopping. What is in doubt stays so until a person resolves it.
func (a *runner) cancelWaiting() {
	for _, w := range a.s.OpenSteps() {
		if w.Phase == runstate.PhaseWaiting && a.s.StoppedWithRun(w) && a.running[w.StepKey] == nil && a.s.Open[w.StepKey] == w {
			a.cancelWork(w)
		}
	}
}

// cancelWork settles open work as cancelled and tells what it waited for.
func (a *runner) cancelWork(w *runstate.Step) {
	if w.Phase == runstate.PhaseWaiting {
		switch w.Reason {
		case domain.WaitApproval:
			a.closeApproval(w, domain.System.Name, "")
		case domain.WaitChild:
			child := w.Ref
			a.pipe.after(func(err error) {
				if err == nil {
					a.e.background(func() { a.e.cancelChild(child) })
				}
			})
		}
	}
	a.dueDirty = true
	a.settle(w, domain.NodeCancelled, nil, nil, nil)
}

// flush completes the checkpoint; the store gets it with the next handOver, at
// the latest before the run's goroutine waits for anything.
func (a *runner) flush() {
	if a.s == nil || a.pipe.broken || a.dropped {
		return
	}
	a.status()
	if !a.pipe.complete() {
		return
	}
	a.run.LastSeq = a.pipe.fence
	if a.e.flushed != nil {
		a.e.flushed(a.id, a.s)
	}
	failpoint.Hit("advance")
	if a.pipe.completed-a.pipe.handed >= handOverAt {
		a.pipe.handOver()
	}
}
