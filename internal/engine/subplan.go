package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// startChild runs another plan as a child run. The child's id follows from the
// visit, so that doing it again after a crash finds the same child.
func (a *runner) startChild(w *runstate.Step, node *walk.ProgramNode, input any) {
	ctx := context.WithoutCancel(a.e.base)
	fail := func(code, format string, args ...any) {
		a.refuse(w, &walk.Failure{Code: code, Node: node.ID, Message: fmt.Sprintf(format, args...)})
	}
	depth, err := a.e.depth(ctx, a.run)
	if err != nil {
		fail(codeUnknownPlan, "node %q: %s", node.ID, err)
		return
	}
	if depth >= maxRecursion {
		fail(codeRecursion, "node %q: plans are nested more than %d deep", node.ID, maxRecursion)
		return
	}
	hash := a.s.Plans[node.Plan]
	if hash == "" {
		if hash, err = a.e.Reader.Resolve(ctx, node.Plan); err != nil {
			fail(codeUnknownPlan, "node %q runs plan %q: %s", node.ID, node.Plan, err)
			return
		}
	}
	child := runstate.DerivedID("child", a.id, node.ID, w.Visit, w.Item, w.Retries)
	resumed := w.Attempt > 0 // an earlier opening of this visit may have left it
	a.waitRow(w, domain.WaitChild, input, func(e *domain.Entry) { e.Ref = child })
	raw, ref := w.Input, domain.ParentRef{Run: a.id, Node: node.ID, Visit: w.Visit, Item: w.Item, Attempt: w.Attempt}
	a.pipe.after(func(err error) {
		if err == nil {
			a.e.background(func() { a.e.ensureChild(child, hash, raw, ref, resumed) })
		}
	})
}

// background runs fn in a goroutine that Stop waits for. It may be called by
// runners only, which Stop waits for too.
func (e *Engine) background(fn func()) { e.wg.Go(fn) }

// depth counts the ancestors of a run.
func (e *Engine) depth(ctx context.Context, r domain.Run) (int, error) {
	n := 0
	for r.Parent != nil && n <= maxRecursion {
		n++
		var err error
		if r, err = e.store.Run(ctx, r.Parent.Run); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// ensureChild creates the child if it does not exist yet, resumes one that an
// earlier opening left failed, and reports one that has ended.
func (e *Engine) ensureChild(id, hash string, input domain.RawJSON, ref domain.ParentRef, resume bool) {
	ctx := context.WithoutCancel(e.base)
	child, err := e.createChild(ctx, id, hash, input, ref)
	if _, doomed := e.doomed.LoadAndDelete(id); doomed && err == nil {
		e.cancelChild(id)
		return
	}
	if err != nil {
		e.post(ref.Run, childMsg{run: id, err: err})
		return
	}
	ended := childMsg{run: id}
	if resume && (child.Status == domain.RunFailed || child.Status == domain.RunCancelled) {
		_, err := e.Act(ctx, domain.System, domain.VerbRequest{Run: id, Action: domain.ActionResume, Reason: "the parent run was resumed"})
		if err == nil {
			return
		}
		now, unread := e.store.Run(ctx, id)
		if unread == nil {
			child = now // somebody else may have resumed it: then it tells
		}
		if child.Status == domain.RunFailed || child.Status == domain.RunCancelled {
			e.log.Warn("child run cannot be resumed", "run_id", id, "parent", ref.Run, "err", err)
			ended.refused = err //seed:child-refused
		}
	}
	if child.Status.Final() {
		e.post(ref.Run, ended)
	}
}

func (e *Engine) createChild(ctx context.Context, id, hash string, input domain.RawJSON, ref domain.ParentRef) (domain.Run, error) {
	if r, err := e.store.Run(ctx, id); err == nil || domain.CodeOf(err) != domain.CodeNotFound {
		return r, err
	}
	parent, err := e.store.Run(ctx, ref.Run)
	if err != nil {
		return domain.Run{}, err
	}
	p, err := e.program(ctx, hash)
	if err != nil {
		return domain.Run{}, err
	}
	if input, err = accepted(ctx, p, input); err != nil {
		return domain.Run{}, err
	}
	origin := "child"
	if parent.Dry() {
		origin = domain.OriginDry
	}
	return e.create(ctx, p, domain.NewRun{ID: id, Input: input, Parent: &ref, Actor: parent.Actor, Origin: origin, Session: parent.Session,
		Priority: parent.Priority, Labels: parent.Labels, Limits: domain.Limits{Offline: parent.Limits.Offline}}, domain.System)
}

// childEnded settles the visit that waits for a child run.
func (a *runner) childEnded(m childMsg) {
	w := a.s.WaitingFor(m.run)
	if w == nil || w.Reason != domain.WaitChild {
		return
	}
	node := &a.prog.Nodes[w.Node]
	child, err := a.e.store.Run(context.WithoutCancel(a.e.base), m.run)
	if m.err != nil {
		err = m.err
	}
	if err == nil && !child.Status.Final() {
		return
	}
	if hash := a.s.Plans[node.Plan]; err == nil && m.refused == nil && child.Status == domain.RunCancelled && !a.s.StoppedWithRun(w) && hash != "" && a.e.cancelledByItsParent(m.run) {
		// The run was resumed before its own cancel had reached the child.
		raw, ref := w.Input, domain.ParentRef{Run: a.id, Node: node.ID, Visit: w.Visit, Item: w.Item, Attempt: w.Attempt}
		a.e.background(func() { a.e.ensureChild(m.run, hash, raw, ref, true) })
		return
	}
	if a.pipe.hasFinal {
		a.flush()
	}
	e := a.entry(domain.EntryResolve, w.StepKey)
	e.Decision, e.Ref, e.Attempt, e.Actor = runstate.ResolveDecision{Action: runstate.ActionChild, Run: m.run}.JSON(), m.run, w.Attempt, domain.System.Name
	if err == nil {
		e.Status = domain.NodeStatus(child.Status)
	}
	fill := func(e *domain.Entry) {
		e.Usage, e.Ref, e.StartedAt, e.Effect = child.Usage, m.run, w.Since, string(walk.EffectControl)
	}
	if err == nil && child.Status == domain.RunCompleted {
		out, decodeErr := runstate.Decode(child.Output)
		if decodeErr == nil {
			a.add(e)
			a.final(w, domain.NodeCompleted, out, nil, fill)
			return
		}
		err = decodeErr
	}
	f := &domain.Failure{Code: codeChildFailed, Node: node.ID}
	switch {
	case err != nil:
		f.Message, f.Permanent = fmt.Sprintf("plan %s cannot run: %s", node.Plan, err), true
	case child.Status == domain.RunCancelled:
		f.Code, f.Message = walk.CodeChildCancelled, fmt.Sprintf("run %s of plan %s was cancelled", domain.ShortID(m.run), node.Plan)
	default:
		f.Message = fmt.Sprintf("run %s of plan %s failed", domain.ShortID(m.run), node.Plan)
		if child.Error != nil {
			f.Message += ": " + child.Error.Message
		}
	}
	if err == nil && m.refused != nil {
		f.Message += "; it cannot be resumed: " + m.refused.Error()
		// Another run in its place would do again what may have happened.
		if refusal, ok := errors.AsType[*domain.Error](m.refused); ok && refusal.Reason == domain.ReasonInDoubt {
			f.Message, f.Permanent = f.Message+". Resolve that, then resume this run", true
		}
	}
	a.add(e)
	if f.Permanent || a.s.StoppedWithRun(w) || w.FailedAttempts+1 >= a.s.WithOverrides(w.VisitKey, node).MaxAttempts {
		a.final(w, domain.NodeFailed, nil, f, fill)
		return
	}
	a.goesOn(w, domain.NodeFailed, f, "", func(e *domain.Entry) { fill(e); e.Attempt = w.Attempt })
	a.retry(node, w, f)
}

// lookForChildren checks every child that is waited for: one may have ended, or
// never have been created, while nobody listened. Children that no step waits for
// are cancelled: the daemon may have died before it told them.
func (a *runner) lookForChildren() {
	if a.prog.HasPlans || a.s.ReplanCount > 0 { // else the run never had any
		a.cancelUnneeded()
	}
	for _, w := range a.s.OpenSteps() {
		if w.Phase != runstate.PhaseWaiting || w.Reason != domain.WaitChild {
			continue
		}
		node := &a.prog.Nodes[w.Node]
		hash := a.s.Plans[node.Plan]
		if hash == "" {
			continue
		}
		child, raw := w.Ref, w.Input
		ref := domain.ParentRef{Run: a.id, Node: node.ID, Visit: w.Visit, Item: w.Item, Attempt: w.Attempt}
		a.e.background(func() { a.e.ensureChild(child, hash, raw, ref, false) })
	}
}

// cancelUnneeded cancels the children that no step of the run waits for.
func (a *runner) cancelUnneeded() {
	children, err := a.e.store.LiveChildren(context.WithoutCancel(a.e.base), a.id)
	if err != nil {
		a.e.log.Error("the children of a run cannot be found", "run_id", a.id, "err", err)
		return
	}
	for _, id := range a.s.UnneededChildren(children) {
		a.e.background(func() { a.e.cancelChild(id) })
	}
}

// cancelledByItsParent reports whether the last cancel of a run came from
// cancelChild, not from a person.
func (e *Engine) cancelledByItsParent(run string) bool {
	rows, err := e.store.Journal(context.WithoutCancel(e.base), run, 0)
	if err != nil {
		return false
	}
	for _, r := range slices.Backward(rows) {
		var p runstate.VerbDecision
		if r.Kind == domain.EntryVerb && json.Unmarshal(r.Decision, &p) == nil && p.Verb == runstate.VerbCancel {
			return r.Actor == domain.System.Name
		}
	}
	return false
}

// cancelChild cancels a child run. It may have ended, or not exist yet: then
// whoever creates it finds it doomed.
func (e *Engine) cancelChild(id string) {
	e.doomed.Store(id, true)
	if _, err := e.store.Run(e.base, id); domain.CodeOf(err) == domain.CodeNotFound {
		return
	}
	e.doomed.Delete(id)
	_, err := e.Act(context.WithoutCancel(e.base), domain.System,
		domain.VerbRequest{Run: id, Action: domain.ActionCancel, Reason: "the parent run does not need it any more"})
	switch domain.CodeOf(err) {
	case "", domain.CodeConflict, domain.CodeNotFound, domain.CodeUnavailable:
	default:
		e.log.Warn("child run cannot be cancelled", "run_id", id, "err", err)
	}
}
