package engine

import (
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// preparation collects what an attempt of a step needs. The handler, its side-effect class, the
// approval rules, and the secrets come from one setup, which the attempt keeps until its handler
// has returned.
type preparation struct {
	*runner
	in   *setup
	step *runstate.Step
	node *walk.ProgramNode
}

// prepare reports to the machine what an attempt of a step needs. It returns false if the step must
// wait for a node slot.
func (a *runner) prepare(k runstate.StepKey) bool {
	p := preparation{runner: a, in: a.e.use(), step: a.m.State.Open[k], node: &a.m.Program.Nodes[k.Node]}
	ev := p.event()
	ready, ok := ev.(*runstate.AttemptReady)
	if !ok {
		p.in.leave()
	}
	if ev == nil {
		return false
	}
	if ok && ready.Attempt.Effect != walk.EffectPure {
		failpoint.Hit("intent.before")
	}
	a.handle(ev)
	return true
}

func (p *preparation) refused(f *walk.Failure) runstate.Event {
	return &runstate.AttemptRefused{StepKey: p.step.StepKey, Failure: f}
}

// event returns what happens to the step: it begins with a slot and a setup, is refused, needs an
// approval, or is skipped by a dry run. It returns nil if no slot is free.
func (p *preparation) event() runstate.Event {
	m, w, node := p.m, p.step, p.node
	var handler Handler
	if runstate.Builtin(node.Type) {
		// The plan declares a built-in node stricter than pure.
		out, failure := runstate.BuiltinOutput(m.State, w, node)
		if failure != nil {
			return p.refused(failure)
		}
		handler = constant(out)
	} else {
		h, ok := p.in.Registry.Handler(node)
		if !ok {
			return p.refused((&walk.Failure{Code: walk.CodeUnknownType}).WithMessage("no handler for steps of type %q", node.TypeName))
		}
		handler = h
	}
	input, failure := m.State.Walk.Input(w.VisitKey, w.Item)
	if failure != nil {
		return p.refused(failure)
	}
	if p.undone(input) {
		return &runstate.DryStep{StepKey: w.StepKey, Input: input}
	}
	switch asked, failure := p.gate(input); {
	case failure != nil:
		return p.refused(failure)
	case asked != nil:
		return &runstate.ConsentNeeded{StepKey: w.StepKey, Request: *asked}
	}
	dispatch, failure := p.dispatch(input)
	if failure != nil {
		return p.refused(failure)
	}
	if !p.slots.takeNode(m.Run.Priority, m.Run.CreatedAt) {
		return nil
	}
	raw, err := jsonvalue.EncodeWithin(input, jsonvalue.MaxBytes)
	if err != nil {
		p.slots.returnNode()
		return p.refused(runstate.InputFailure(node.ID, err))
	}
	t := p.newAttempt(handler, effectIn(p.in.Registry, m.Program, node, dispatch), dispatch)
	t.Input, t.setup = raw, p.in
	p.attempts[&t.Attempt] = t
	ev := &p.ready // the machine does not keep events
	*ev = runstate.AttemptReady{Attempt: &t.Attempt}
	if t.Effect != walk.EffectPure {
		ev.Uses = t.takeUses()
	}
	return ev
}

// dispatch returns the input with secrets and the callback address of the run. They are resolved only here,
// and only in arguments of tools.
func (p *preparation) dispatch(input any) (any, *walk.Failure) {
	if p.node.Type != walk.TypeTool || p.in.Secrets == nil && !p.m.Program.Callback {
		return input, nil
	}
	return p.m.State.Walk.DispatchInput(p.step.VisitKey, p.step.Item, func(name string) (string, bool) {
		switch {
		case name == walk.CallbackName && p.in.Callback == nil, name != walk.CallbackName && p.in.Secrets == nil:
			return "", false
		case name == walk.CallbackName:
			return p.in.Callback(p.m.Run.ID), true
		}
		return p.in.Secrets.Secret(name, p.node.Tool, input)
	})
}

// undone reports whether a dry run skips a step with this input.
func (p *preparation) undone(input any) bool {
	if !p.m.Run.Dry() || runstate.Builtin(p.node.Type) {
		return false
	}
	e := effectIn(p.in.Registry, p.m.Program, p.node, input)
	return e != walk.EffectPure && (e != walk.EffectRead || p.m.Run.Limits.Offline)
}

// gate returns the call that needs the approval of a person before the node runs, or nil.
func (p *preparation) gate(input any) (*runstate.ConsentRequest, *walk.Failure) {
	g, ok := p.in.Registry.(Gated)
	if !ok {
		return nil, nil
	}
	q, err := g.Gate(planKey(p.m.Run, p.node), p.node, input)
	if err != nil {
		return nil, walk.AsFailure(err)
	}
	if q == nil {
		return nil, nil
	}
	c, err := p.e.current().consentTo(0, *q)
	if err != nil {
		return nil, walk.AsFailure(err)
	}
	if answer, ok := p.step.Answers[0]; ok && answer.Approved && answer.Digest == c.Digest {
		return nil, nil
	}
	return &c, nil
}
