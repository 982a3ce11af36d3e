package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// dispatch starts one piece of work; false: it must wait for a node slot. The
// work is the head of the queue.
func (a *runner) dispatch(k runstate.StepKey) bool {
	// A checkpoint written on the way says that the run works, though
	// this node has left the queue already.
	a.ready.starting = true
	defer func() { a.ready.starting = false }()
	node := &a.prog.Nodes[k.Node]
	if k.Item == runstate.NoItem && node.Foreach != nil {
		a.fanOut(a.s.Foreach[k.VisitKey])
		return true
	}
	w := a.s.Open[k]
	if w.Resolution != nil {
		a.ready.pop(k)
		a.applyAnswer(w, *w.Resolution)
		return true
	}
	switch node.Type {
	case walk.TypeWait, walk.TypeApproval, walk.TypePlan:
		a.ready.pop(k)
		a.control(w, node)
		return true
	}
	if runstate.Builtin(node.Type) && (node.Effect == "" || a.run.Dry()) {
		a.ready.pop(k)
		a.inline(w, node)
		return true
	}
	return a.call(w, node)
}

// inline runs a pure built-in node: one final row, no intent.
func (a *runner) inline(w *runstate.Step, node *walk.ProgramNode) {
	started := a.e.now()
	out, failure := a.builtin(w, node)
	if failure != nil {
		a.final(w, domain.NodeFailed, nil, runstate.FromPlanner(failure, node.ID), atOnce(w, started))
		a.flush()
		return
	}
	a.final(w, domain.NodeCompleted, out, nil, func(e *domain.Entry) {
		atOnce(w, started)(e)
		if node.Type == walk.TypeLog {
			e.Log = logOf(logText(out))
		}
	})
	a.flush()
}

// atOnce fills the only row of an attempt that began and ended in the run's own
// goroutine.
func atOnce(w *runstate.Step, started time.Time) func(*domain.Entry) {
	return func(e *domain.Entry) {
		e.Attempt, e.Effect, e.StartedAt = w.Attempt+1, string(walk.EffectPure), started
	}
}

// builtin computes the output of a pure built-in node.
func (a *runner) builtin(w *runstate.Step, node *walk.ProgramNode) (any, *walk.Failure) {
	switch node.Type {
	case walk.TypeNoop, walk.TypeDecision:
		if w.Item != runstate.NoItem {
			return a.s.Walk.Input(w.VisitKey, w.Item)
		}
		return a.s.Walk.Last(w.VisitKey), nil
	}
	return a.s.Walk.Input(w.VisitKey, w.Item)
}

// fanOut begins the next item of a foreach visit, or settles a visit that has
// none.
func (a *runner) fanOut(f *runstate.Foreach) {
	if f.Total < 0 {
		n, failure := a.s.Walk.Items(f.VisitKey)
		switch {
		case failure != nil:
			a.ready.pop(runstate.StepKey{VisitKey: f.VisitKey, Item: runstate.NoItem})
			a.settleVisit(f.VisitKey, domain.NodeFailed, nil, runstate.FromPlanner(failure, a.prog.Nodes[f.Node].ID))
			a.flush()
			return
		case n == 0:
			a.ready.pop(runstate.StepKey{VisitKey: f.VisitKey, Item: runstate.NoItem})
			a.settleVisit(f.VisitKey, domain.NodeCompleted, []any{}, nil)
			a.flush()
			return
		}
		f.Total = n
	}
	if w := a.s.StartNextItem(f); w != nil {
		// A new item is dispatched before others that wait for their turn.
		a.s.NewlyReady = a.s.NewlyReady[:len(a.s.NewlyReady)-1]
		a.ready.pushFront(w.StepKey)
		return
	}
	a.ready.pop(runstate.StepKey{VisitKey: f.VisitKey, Item: runstate.NoItem})
}

// call prepares an attempt of a node that has a handler.
func (a *runner) call(w *runstate.Step, node *walk.ProgramNode) bool {
	refuse := func(f *walk.Failure) bool {
		a.ready.pop(w.StepKey)
		f.Permanent, f.NoEffect = true, true
		a.final(w, domain.NodeFailed, nil, runstate.FromPlanner(f, node.ID), atOnce(w, a.e.now()))
		a.flush()
		return true
	}
	// The handler, its effect, who is asked first and what is secret are of one
	// setup, which the attempt keeps until its handler has returned.
	in, begun := a.e.use(), false
	defer func() {
		if !begun {
			in.leave()
		}
	}()
	var handler Handler
	if runstate.Builtin(node.Type) {
		// A built-in node that the plan made stricter than pure.
		out, failure := a.builtin(w, node)
		if failure != nil {
			return refuse(failure)
		}
		handler = constant(out)
	} else {
		h, ok := in.Registry.Handler(node)
		if !ok {
			return refuse(&walk.Failure{Code: walk.CodeUnknownType, Message: fmt.Sprintf("nothing here runs nodes of type %q", node.TypeName)})
		}
		handler = h
	}
	input, failure := a.s.Walk.Input(w.VisitKey, w.Item)
	if failure != nil {
		return refuse(failure)
	}
	if a.stubs(in.Registry, node, input) {
		a.ready.pop(w.StepKey)
		a.stub(w, node, input)
		return true
	}
	switch waits, failure := a.gate(in.Registry, w, node, input); {
	case failure != nil:
		return refuse(failure)
	case waits:
		return true
	}
	dispatch := input
	if node.Type == walk.TypeTool && in.Secrets != nil {
		// Secrets are resolved only now and only in tool arguments.
		dispatch, failure = a.s.Walk.DispatchInput(w.VisitKey, w.Item, func(name string) (string, bool) {
			return in.Secrets.Secret(name, node.Tool, input)
		})
		if failure != nil {
			return refuse(failure)
		}
	}
	if !a.slots.takeNode(a.run.Priority, a.run.CreatedAt) {
		return false
	}
	a.ready.pop(w.StepKey)
	t := a.newAttempt(w, node, handler, effectIn(in.Registry, a.prog, node, dispatch), dispatch)
	raw, err := jsonvalue.EncodeWithin(input, jsonvalue.MaxBytes)
	if err != nil {
		a.slots.returnNode()
		a.final(w, domain.NodeFailed, nil, runstate.FromPlanner(inputFailure(node.ID, err), node.ID), atOnce(w, t.started))
		a.flush()
		return true
	}
	t.input = raw
	a.running[w.StepKey] = t
	t.setup, begun = in, true
	if t.effect == walk.EffectPure {
		// Pure work needs no durable intent and may run ahead.
		a.e.start(t)
		return true
	}
	a.noteUses(t)
	e := a.entry(domain.EntryIntent, w.StepKey)
	e.Status, e.Attempt, e.Effect = domain.NodeRunning, t.number, string(t.effect)
	e.IdempotencyKey, e.Input, e.StartedAt = t.call.IdempotencyKey, raw, t.started
	e.Agent = node.Agent
	a.add(e) //seed:intent
	p := patchOf(&a.pipe.next)
	headline := node.ID
	if t.number > 1 {
		headline = fmt.Sprintf("%s (attempt %d)", node.ID, t.number)
	}
	p.Headline, p.Node = &headline, &node.ID
	failpoint.Hit("intent.before")
	a.pipe.after(func(err error) {
		failpoint.Hit("intent.durable")
		if err != nil || a.running[t.key] != t {
			t.leave() // it never begins
			return
		}
		if a.stopping || context.Cause(t.ctx) != nil {
			a.unstarted(t)
			return
		}
		a.e.start(t)
	})
	return true
}

// handOff records the handoff to the agent of a node whose first attempt begins with
// the row.
func (a *runner) handOff(e *domain.Entry) {
	if !runstate.BeginsAttempt(e) || a.run.Dry() {
		return
	}
	node := &a.prog.Nodes[a.prog.Index[e.Node]]
	if node.Agent == "" {
		return
	}
	from := a.sender(node)
	if !runstate.HandsOver(e, node.Agent, from) {
		return
	}
	a.pipe.next.Handoffs = append(a.pipe.next.Handoffs, domain.Handoff{ID: runstate.HandoffID(a.id, e.Seq), Run: a.id, Seq: e.Seq, From: from, To: node.Agent, Node: node.ID,
		Reason: runstate.HandoffReason, Context: node.Task, At: e.At})
}

// sender is the agent that a node takes over from: that of the last ancestor
// that has one, else the supervisor.
func (a *runner) sender(node *walk.ProgramNode) string {
	if a.prog.Kind == walk.KindSteps {
		return runstate.PreviousAgent(a.prog.Program, node.Index) // steps have an order of their own
	}
	from := runstate.SupervisorAgent
	seen := map[int]bool{node.Index: true}
	queue := append([]int(nil), a.prog.Predecessors[node.Index]...)
	ancestors := map[int]bool{}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		if seen[i] {
			continue
		}
		seen[i], ancestors[i] = true, true
		queue = append(queue, a.prog.Predecessors[i]...)
	}
	last := int64(0)
	for i, c := range a.s.Completed {
		if ancestors[i] && c[0].Seq > last {
			from, last = a.prog.Nodes[i].Agent, c[0].Seq
		}
	}
	return from
}
