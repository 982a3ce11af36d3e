package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// findChild finds the version that a plan step runs, and reports it to the machine.
func (a *runner) findChild(k runstate.StepKey) {
	node := &a.m.Program.Nodes[k.Node]
	hash, failure := a.e.childVersion(a.m, node)
	if failure != nil {
		a.handle(&runstate.AttemptRefused{StepKey: k, Failure: failure})
		return
	}
	a.handle(&runstate.ChildReady{StepKey: k, Hash: hash})
}

// childVersion is the hash of the version that a plan step of a run runs.
func (e *Engine) childVersion(m *runstate.Machine, node *walk.ProgramNode) (hash string, f *walk.Failure) {
	ctx := context.WithoutCancel(e.base)
	fail := func(code, format string, args ...any) (string, *walk.Failure) {
		return "", &walk.Failure{Code: code, Node: node.ID, Message: fmt.Sprintf(format, args...)}
	}
	depth, err := e.depth(ctx, m.Run)
	if err != nil {
		return fail(codeUnknownPlan, "node %q: %s", node.ID, err)
	}
	if depth >= maxRecursion {
		return fail(codeRecursion, "node %q: plans are nested more than %d deep", node.ID, maxRecursion)
	}
	if hash = m.State.Plans[node.Plan]; hash == "" {
		if hash, err = e.Reader.Resolve(ctx, node.Plan); err != nil {
			return fail(codeUnknownPlan, "node %q runs plan %q: %s", node.ID, node.Plan, err)
		}
	}
	return hash, nil
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

func (m childMsg) apply(a *runner) {
	if w := a.m.State.WaitingFor(m.run); w == nil || w.Reason != domain.WaitChild {
		return
	}
	ev := &runstate.ChildEnded{ID: m.run, Err: m.err, Refused: m.refused}
	child, err := a.e.store.Run(context.WithoutCancel(a.e.base), m.run)
	if ev.Child = child; ev.Err == nil {
		ev.Err = err
	}
	ev.CancelledHere = ev.Err == nil && m.refused == nil && child.Status == domain.RunCancelled && a.e.cancelledByItsParent(m.run)
	a.handle(ev)
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
