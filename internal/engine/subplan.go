package engine

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

// resolvePlans pins every plan node to a version (ruling 13). It is done once,
// when the run is created.
func (e *Engine) resolvePlans(ctx context.Context, p *program) (map[string]string, error) {
	if !p.hasPlans {
		return nil, nil
	}
	plans := map[string]string{}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if n.Type != planner.TypePlan || plans[n.Plan] != "" {
			continue
		}
		hash, err := e.resolvePlan(ctx, n.Plan)
		if err != nil {
			return nil, fmt.Errorf("node %q runs plan %q: %w", n.ID, n.Plan, err)
		}
		plans[n.Plan] = hash
	}
	return plans, nil
}

// resolvePlan finds the version that `key` or `key@version` names now.
func (e *Engine) resolvePlan(ctx context.Context, name string) (string, error) {
	key, number, versioned := strings.Cut(name, "@")
	p, err := e.store.Plan(ctx, key)
	if err != nil {
		return "", err
	}
	if !versioned {
		return p.LatestHash, nil
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		return "", kairos.Errorf(kairos.CodeInvalid, "%q is not a version number", number)
	}
	v, err := e.store.VersionByNumber(ctx, p.ID, n)
	if err != nil {
		return "", err
	}
	return v.Hash, nil
}

// startChild runs another plan as a child run. The child's id follows from the
// visit, so that doing it again after a crash finds the same child.
func (a *actor) startChild(w *work, node *planner.ProgramNode, input any) {
	ctx := context.WithoutCancel(a.e.base)
	fail := func(code, format string, args ...any) {
		a.refuse(w, &planner.Failure{Code: code, Node: node.ID, Message: fmt.Sprintf(format, args...)})
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
	hash := a.s.plans[node.Plan]
	if hash == "" {
		if hash, err = a.e.resolvePlan(ctx, node.Plan); err != nil {
			fail(codeUnknownPlan, "node %q runs plan %q: %s", node.ID, node.Plan, err)
			return
		}
	}
	child := derivedID("child", a.id, node.ID, w.Visit, w.item, w.retries)
	resumed := w.attempt > 0 // an earlier opening of this visit may have left it
	a.waitRow(w, kairos.WaitChild, input, func(e *kairos.Entry) { e.Ref = child })
	raw, ref := w.input, kairos.ParentRef{Run: a.id, Node: node.ID, Visit: w.Visit, Item: w.item, Attempt: w.attempt}
	a.after(func(err error) {
		if err == nil {
			a.e.background(func() { a.e.ensureChild(child, hash, raw, ref, resumed) })
		}
	})
}

// background runs fn in a goroutine that Stop waits for. It may be called by
// actors only, which Stop waits for too.
func (e *Engine) background(fn func()) { e.wg.Go(fn) }

// depth counts the ancestors of a run.
func (e *Engine) depth(ctx context.Context, r kairos.Run) (int, error) {
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
func (e *Engine) ensureChild(id, hash string, input kairos.RawJSON, ref kairos.ParentRef, resume bool) {
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
	if resume && (child.Status == kairos.RunFailed || child.Status == kairos.RunCancelled) {
		_, err := e.Act(ctx, kairos.System, kairos.VerbRequest{Run: id, Action: kairos.ActionResume, Reason: "the parent run was resumed"})
		if err == nil || kairos.CodeOf(err) == kairos.CodeConflict {
			return
		}
		e.log.Warn("child run cannot be resumed", "run_id", id, "parent", ref.Run, "err", err)
	}
	if child.Status.Final() {
		e.post(ref.Run, childMsg{run: id})
	}
}

func (e *Engine) createChild(ctx context.Context, id, hash string, input kairos.RawJSON, ref kairos.ParentRef) (kairos.Run, error) {
	if r, err := e.store.Run(ctx, id); err == nil || kairos.CodeOf(err) != kairos.CodeNotFound {
		return r, err
	}
	parent, err := e.store.Run(ctx, ref.Run)
	if err != nil {
		return kairos.Run{}, err
	}
	p, err := e.program(ctx, hash)
	if err != nil {
		return kairos.Run{}, err
	}
	if p.InputSchema != nil {
		if err := validate(p.InputSchema, input, "input"); err != nil {
			return kairos.Run{}, err
		}
	}
	origin := "child"
	if parent.Dry() {
		origin = kairos.OriginDry
	}
	return e.create(ctx, p, kairos.NewRun{ID: id, Input: input, Parent: &ref, Actor: parent.Actor, Origin: origin, Session: parent.Session,
		Priority: parent.Priority, Labels: parent.Labels}, kairos.System)
}

// childEnded settles the visit that waits for a child run.
func (a *actor) childEnded(m childMsg) {
	w := a.waitingFor(m.run)
	if w == nil || w.reason != kairos.WaitChild {
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
	if a.hasFinal {
		a.flush()
	}
	e := a.entry(kairos.EntryResolve, w.workKey)
	e.Decision, e.Ref, e.Attempt, e.Actor = payload{Action: actionChild, Run: m.run}.json(), m.run, w.attempt, kairos.System.Name
	if err == nil {
		e.Status = kairos.NodeStatus(child.Status)
	}
	fill := func(e *kairos.Entry) {
		e.Usage, e.Ref, e.StartedAt, e.Effect = child.Usage, m.run, w.since, string(planner.EffectControl)
	}
	if err == nil && child.Status == kairos.RunCompleted {
		out, decodeErr := decode(child.Output)
		if decodeErr == nil {
			a.add(e)
			a.final(w, kairos.NodeCompleted, out, nil, fill)
			return
		}
		err = decodeErr
	}
	f := &kairos.Failure{Code: codeChildFailed, Node: node.ID}
	switch {
	case err != nil:
		f.Message, f.Permanent = fmt.Sprintf("plan %s cannot run: %s", node.Plan, err), true
	case child.Status == kairos.RunCancelled:
		f.Code, f.Message = planner.CodeChildCancelled, fmt.Sprintf("run %s of plan %s was cancelled", kairos.ShortID(m.run), node.Plan)
	default:
		f.Message = fmt.Sprintf("run %s of plan %s failed", kairos.ShortID(m.run), node.Plan)
		if child.Error != nil {
			f.Message += ": " + child.Error.Message
		}
	}
	a.add(e)
	if f.Permanent || a.s.stops(w) || w.tries+1 >= a.s.within(w.VisitKey, node).MaxAttempts {
		a.final(w, kairos.NodeFailed, nil, f, fill)
		return
	}
	a.goesOn(w, kairos.NodeFailed, f, "", func(e *kairos.Entry) { fill(e); e.Attempt = w.attempt })
	a.retry(node, w, f)
}

// lookForChildren checks every child that is waited for: one may have ended, or
// never have been created, while nobody listened.
func (a *actor) lookForChildren() {
	for _, w := range a.s.sorted() {
		if w.phase != phaseWaiting || w.reason != kairos.WaitChild {
			continue
		}
		node := &a.prog.Nodes[w.Node]
		hash := a.s.plans[node.Plan]
		if hash == "" {
			continue
		}
		child, raw := w.ref, w.input
		ref := kairos.ParentRef{Run: a.id, Node: node.ID, Visit: w.Visit, Item: w.item, Attempt: w.attempt}
		a.e.background(func() { a.e.ensureChild(child, hash, raw, ref, false) })
	}
}

// cancelChild cancels a child run. It may have ended, or not exist yet: then
// whoever creates it finds it doomed.
func (e *Engine) cancelChild(id string) {
	e.doomed.Store(id, true)
	if _, err := e.store.Run(e.base, id); kairos.CodeOf(err) == kairos.CodeNotFound {
		return
	}
	e.doomed.Delete(id)
	_, err := e.Act(context.WithoutCancel(e.base), kairos.System,
		kairos.VerbRequest{Run: id, Action: kairos.ActionCancel, Reason: "the parent run does not need it any more"})
	switch kairos.CodeOf(err) {
	case "", kairos.CodeConflict, kairos.CodeNotFound, kairos.CodeUnavailable:
	default:
		e.log.Warn("child run cannot be cancelled", "run_id", id, "err", err)
	}
}
