package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// Replanner makes new tails for runs that cannot go on as planned. It is called
// again after a crash, unless its answer was durable; it must change nothing.
type Replanner interface {
	Replan(ctx context.Context, r domain.ReplanRequest) (domain.Replanned, error)
}

// SetReplanner gives the engine who plans anew. It is called before Open; without
// it, `on_error: replan` means fail.
func (e *Engine) SetReplanner(r Replanner) { e.replanner = r }

// replanTimeout bounds one request for a new tail.
const replanTimeout = 5 * time.Minute

// replans reports whether a failure of this work is answered by planning anew.
func (a *runner) replans(w *runstate.Step) bool {
	node := &a.prog.Nodes[w.Node]
	return node.OnError == walk.OnErrorReplan && w.Item == runstate.NoItem && !w.ReplanAbandoned && a.e.replanner != nil &&
		a.s.ReplanCount < a.e.current().MaxReplans && !a.s.Cancelled && !a.s.Walk.Stopping() &&
		!slices.ContainsFunc(node.Out, func(e walk.ProgramEdge) bool { return e.Cond.OnFailure() })
}

// awaitReplan records that a node has failed and that the run waits for a new
// tail.
func (a *runner) awaitReplan(w *runstate.Step, f *domain.Failure, fill func(*domain.Entry)) {
	a.goesOn(w, domain.NodeFailed, f, "", func(e *domain.Entry) {
		e.Attempt = w.Attempt
		if fill != nil {
			fill(e)
		}
	})
	e := a.entry(domain.EntryWait, w.StepKey)
	e.Status, e.Reason, e.Attempt = domain.NodeWaiting, string(domain.WaitReplan), w.Attempt
	a.add(e)
	a.dueDirty = true
	a.freeNodes()
}

// replanMsg brings a new tail, or says why there is none.
type replanMsg struct {
	key    runstate.StepKey
	tail   runstate.ReplanTarget
	unsafe []string
	usage  domain.Usage
	err    error
	// again: nothing came of it, and it is to be asked anew.
	again bool
}

// considerReplan asks for a new tail once nothing runs any more and nothing is
// in doubt: what is planned then knows everything that has happened.
func (a *runner) considerReplan() {
	if !a.prog.Replans || len(a.running) > 0 || a.ended || a.stopping || a.e.opts.Safe || a.e.maintenance.Load() || a.s.Paused || a.s.Held || a.s.Quarantined || a.s.ReplanCount >= a.e.current().MaxReplans {
		return
	}
	w := a.s.Replanning()
	if w == nil || w.ReplanTarget != nil || a.e.replanner == nil || len(a.s.UnresolvedDoubts()) > 0 {
		return
	}
	for _, other := range a.s.Open {
		if other.Phase == runstate.PhaseInDoubt {
			return
		}
	}
	if _, busy := a.e.replanning.LoadOrStore(a.id, true); busy {
		return
	}
	a.pipe.after(func(err error) {
		if err != nil {
			a.e.replanning.Delete(a.id)
			return
		}
		a.e.background(func() { a.e.makeReplan(a.id) })
	})
}

// makeReplan plans, stores the version and tells the run. The planner's answer is
// recorded first: a plan that is not stored or followed, because the daemon dies
// here, is made of it again, and the planner is not asked twice.
func (e *Engine) makeReplan(run string) {
	ctx, cancel := context.WithTimeout(e.base, replanTimeout)
	defer cancel()
	failpoint.Hit("replan.asked")
	m, err := e.planAnew(ctx, run)
	if context.Cause(e.base) != nil {
		e.replanning.Delete(run) // it is planned at the next start
		return
	}
	m.err, m.again = err, errors.Is(err, errNotKept)
	failpoint.Hit("replan.planned")
	if !e.post(run, m) {
		e.replanning.Delete(run)
	}
}

func (e *Engine) planAnew(ctx context.Context, run string) (replanMsg, error) {
	var m replanMsg
	v, err := e.View(ctx, run)
	if err != nil {
		return m, err
	}
	w := v.State.Replanning()
	if w == nil || w.ReplanTarget != nil {
		return m, domain.Errorf(domain.CodeConflict, "the run does not wait for a plan any more")
	}
	m.key = w.StepKey
	version, err := e.store.VersionByHash(ctx, v.Run.Hash)
	if err != nil {
		return m, err
	}
	req := domain.ReplanRequest{Run: v.Run, Version: version, Node: v.Program.Nodes[w.Node].ID}
	if w.Failure != nil {
		req.Failure = *w.Failure
	}
	for _, d := range v.State.Settled {
		n := &v.Program.Nodes[d.Node]
		step := domain.ReplanStep{Node: n.ID, Task: n.Task, Agent: n.Agent, Status: d.Status}
		if out, ok := v.State.Walk.Output(n.ID); ok && d.Status == domain.NodeCompleted {
			if step.Output, err = jsonvalue.Encode(out); err != nil {
				return m, err
			}
		}
		req.Settled = append(req.Settled, step)
	}
	for _, other := range v.State.OpenSteps() {
		if id := v.Program.Nodes[other.Node].ID; other != w && other.Phase == runstate.PhaseWaiting && !slices.Contains(req.Open, id) {
			req.Open = append(req.Open, id)
		}
	}
	out, err := e.askPlanner(ctx, run, w, req)
	if err != nil {
		m.usage = out.Usage
		return m, err
	}
	doc, problems := e.CheckPlan(out.Source, planner.FormatJSON)
	if err := problems.Err(); err != nil {
		return m, domain.Errorf(domain.CodeInvalid, "the new plan is not valid: %w", err)
	}
	if doc.ID != version.PlanKey {
		return m, domain.Errorf(domain.CodeInvalid, "the new plan is %q, not a version of %q", doc.ID, version.PlanKey)
	}
	if doc.Hash == version.Hash {
		return m, domain.Errorf(domain.CodeInvalid, "the new plan is the old one")
	}
	name, description := describe(doc)
	_, stored, _, err := e.store.PutVersion(ctx, domain.NewVersion{Key: doc.ID, Name: name, Description: description, Hash: doc.Hash, Kind: string(doc.Kind()),
		Format: string(doc.Format), Origin: runstate.KindReplan, Semantics: walk.Semantics, Source: doc.Source, Canonical: doc.Canonical(),
		ParentHash: version.Hash, Reason: out.Reason, Author: replanActor.Name}, replanActor)
	if err != nil {
		return m, err
	}
	m.tail, m.unsafe = runstate.ReplanTarget{Hash: stored.Hash, Version: stored.Number, Reason: out.Reason}, out.Unsafe
	return m, nil
}

// askPlanner gives the planner's answer: the one that is recorded, or a new one,
// which is durable before anything comes of it. Its usage is that row's.
func (e *Engine) askPlanner(ctx context.Context, run string, w *runstate.Step, req domain.ReplanRequest) (domain.Replanned, error) {
	if row, ok := w.Substeps[runstate.ReplanSubstep]; ok {
		var p runstate.PlannerAnswer
		if err := json.Unmarshal(row.Output, &p); err != nil {
			return domain.Replanned{}, runstate.CorruptRow(&row, "%v", err)
		}
		return domain.Replanned{Source: []byte(p.Source), Reason: p.Reason, Unsafe: p.Unsafe}, nil
	}
	out, err := e.replanner.Replan(ctx, req)
	if err != nil {
		return out, err
	}
	failpoint.Hit("replan.answered")
	m := answerMsg{w.StepKey, out, newReply[done]()}
	_, err = ask(ctx, e, func(m message) bool { return e.post(run, m) }, m, m.reply, ErrStopping)
	switch {
	case err == nil:
		return out, nil
	case errors.Is(err, ErrStopping) || ctx.Err() != nil:
		return domain.Replanned{}, err
	}
	return out, fmt.Errorf("%w: %w", errNotKept, err)
}

// errNotKept says that an answer could not be recorded: the run has moved on, or its
// checkpoint was rejected. It is asked anew where the run stands then.
var errNotKept = errors.New("the planner's answer was not recorded")

// answerMsg brings the planner's answer, to be made durable.
type answerMsg struct {
	key   runstate.StepKey
	out   domain.Replanned
	reply reply[done]
}

func (m answerMsg) answer(err error) { m.reply.give(done{}, err) }

// keepAnswer records the planner's answer, with what it took.
func (a *runner) keepAnswer(m answerMsg) {
	w := a.s.Open[m.key]
	if a.ended || w == nil || w.Phase != runstate.PhaseWaiting || w.Reason != domain.WaitReplan {
		m.answer(ErrFenced)
		return
	}
	e := a.entry(domain.EntrySubstep, m.key)
	e.Status, e.Attempt, e.Substep, e.Usage = domain.NodeCompleted, w.Attempt, runstate.ReplanSubstep, m.out.Usage
	e.Decision = runstate.SubstepDecision{Kind: runstate.KindReplan}.JSON()
	e.Output = runstate.MustJSON(runstate.PlannerAnswer{Source: string(m.out.Source), Reason: m.out.Reason, Unsafe: m.out.Unsafe})
	a.add(e)
	a.pipe.after(m.answer)
}

// replanActor is who stores new tails and makes runs follow them.
var replanActor = domain.Actor{Name: "supervisor", Role: domain.RoleAuthor, Surface: "engine"}

// replanned takes up a new tail.
func (a *runner) replanned(m replanMsg) {
	a.e.replanning.Delete(a.id)
	w := a.s.Open[m.key]
	if m.again || a.ended || w == nil || w.Phase != runstate.PhaseWaiting || w.Reason != domain.WaitReplan {
		return
	}
	switch {
	case m.err != nil:
		a.noReplan(w, m.err.Error(), m.usage)
	case len(m.unsafe) > 0:
		a.askTail(w, m)
	default:
		a.followTail(w, m.tail, m.usage, replanActor.Name)
	}
}

// noReplan lets the node's own failure stand.
func (a *runner) noReplan(w *runstate.Step, why string, usage domain.Usage) {
	w.ReplanAbandoned = true
	f := w.Failure
	if f == nil {
		f = &domain.Failure{Code: walk.CodeFailed, Message: "failed"} // the row before the wait says it
	}
	a.final(w, domain.NodeFailed, nil, f, func(e *domain.Entry) {
		e.Attempt, e.Usage, e.Reason = w.Attempt, usage, "no new plan: "+a.e.mask(runstate.ClipText(why, 2000))
	})
}

// askTail asks a person to accept a tail with unsafe steps.
func (a *runner) askTail(w *runstate.Step, m replanMsg) {
	node := a.prog.Nodes[w.Node].ID
	e := a.entry(domain.EntryWait, w.StepKey)
	e.Status, e.Reason, e.Attempt, e.Usage = domain.NodeWaiting, string(domain.WaitApproval), w.Attempt, m.usage
	e.Ref = runstate.DerivedID("replan", a.id, node, w.Visit, w.Item, int(a.s.Seq)+1)
	e.Input = runstate.MustJSON(map[string]any{"message": tailQuestion(node, m.tail.Version, m.unsafe), "version": m.tail.Version, "reason": m.tail.Reason})
	e.Decision = runstate.WaitDecision{Kind: runstate.KindReplan, Tail: &m.tail}.JSON()
	a.add(e)
	a.dueDirty = true
	a.pipe.next.Approvals = append(a.pipe.next.Approvals, a.request(w))
}

func tailQuestion(node string, version int, unsafe []string) string {
	return fmt.Sprintf("After %s failed: follow version %d? New steps that cannot be repeated: %s.", node, version, strings.Join(unsafe, ", "))
}

// answerTail does what a person said of a tail.
func (a *runner) answerTail(w *runstate.Step, t runstate.ReplanTarget, approved bool, by, comment string) {
	a.dueDirty = true
	if !approved {
		a.noReplan(w, strings.TrimSuffix("version "+fmt.Sprint(t.Version)+" was rejected by "+by+": "+comment, ": "), domain.Usage{})
		return
	}
	a.followTail(w, t, domain.Usage{}, by)
}

// followTail makes the run follow a version: one row, by which a fold does the
// same. What is completed must stay completed.
func (a *runner) followTail(w *runstate.Step, t runstate.ReplanTarget, usage domain.Usage, by string) {
	e, next, dropped, prog, err := a.prepareTail(w, t, by)
	if err != nil {
		a.noReplan(w, err.Error(), usage)
		return
	}
	if a.pipe.hasFinal {
		a.flush()
	}
	e.Usage = usage
	a.pipe.next.Entries = append(a.pipe.next.Entries, *e)
	a.use(usage)
	for _, d := range dropped {
		if d.Phase != runstate.PhaseWaiting {
			continue
		}
		switch d.Reason {
		case domain.WaitApproval:
			if d.ReplanTarget == nil {
				a.closeApproval(d, by, "the run follows another plan")
			}
		case domain.WaitChild:
			child := d.Ref
			a.pipe.after(func(err error) {
				if err == nil {
					a.e.background(func() { a.e.cancelChild(child) })
				}
			})
		}
	}
	a.s, a.prog = next, prog
	a.run.Hash, a.run.Version = t.Hash, t.Version
	p := patchOf(&a.pipe.next)
	p.Hash, p.Version = t.Hash, t.Version
	a.ready.requeue(a.s)
	a.dueDirty = true
	a.pipe.after(func(err error) {
		if err == nil {
			a.e.watchers.changed(a.id)
		}
	})
	failpoint.Hit("replan.before")
	a.flush()
}

// prepareTail computes the replan row and the state that it leads to, by the
// code that forks a run onto another version.
func (a *runner) prepareTail(w *runstate.Step, t runstate.ReplanTarget, by string) (*domain.Entry, *runstate.State, []*runstate.Step, *runstate.Compiled, error) {
	ctx := context.WithoutCancel(a.e.base)
	prog, err := a.e.program(ctx, t.Hash)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	journal, err := a.journal(ctx)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	input, err := runstate.Decode(a.run.Input)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	f := a.e.Facts(ctx, a.run, input)
	v := &preview.View{Env: &a.e.env, Run: a.run, Program: a.prog, Journal: journal, State: a.s}
	v.Run.LastSeq = a.s.Seq
	kept, dropped, err := v.KeepFor(prog, f)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	for _, d := range dropped {
		if d.Status == domain.NodeCompleted {
			return nil, nil, nil, nil, domain.Errorf(domain.CodeInvalid, "version %d does not keep the completed node %s: %s", t.Version, d.Node, d.Reason)
		}
	}
	r := runstate.Replan{From: a.run.Hash, Before: a.run.Version, Hash: t.Hash, Version: t.Version, Node: a.prog.Nodes[w.Node].ID, Visit: w.Visit, Kept: kept}
	e := &domain.Entry{Seq: a.s.Seq + 1, Kind: domain.EntryReplan, Item: runstate.NoItem, Actor: by, At: a.e.now(), Decision: runstate.MustJSON(r),
		Reason: cmp.Or(t.Reason, "planned anew")}
	e.Failure = w.Failure
	next, left, err := a.s.FollowReplan(f, e, journal)
	for _, d := range left {
		if id := a.prog.Nodes[d.Node].ID; d.Attempt > 0 && d.VisitKey != w.VisitKey && !slices.Contains(r.Dropped, id) {
			r.Dropped = append(r.Dropped, id)
		}
	}
	e.Decision = runstate.MustJSON(r)
	return e, next, left, prog, err
}

func describe(d *planner.Document) (name, description string) {
	if d.Graph != nil {
		return d.Graph.Name, d.Graph.Description
	}
	return d.Steps.Name, d.Steps.Description
}
