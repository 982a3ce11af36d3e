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
		h, failure := p.in.handlerOf(node)
		if failure != nil {
			return p.refused(failure)
		}
		handler = h
	}
	input, failure := m.State.Walk.Input(w.VisitKey, w.Item)
	if failure != nil {
		return p.refused(failure)
	}
	if p.in.skips(m.Program, node, m.Run.Dry(), m.Run.Limits.Offline, input) {
		return &runstate.DryStep{StepKey: w.StepKey, Input: input}
	}
	switch asked, failure := p.in.gate(planKey(m.Run, node), node, input, w.Answers); {
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
	return p.m.State.Walk.DispatchInput(p.step.VisitKey, p.step.Item, p.in.lookup(p.m.Run.ID, p.node, input))
}

// lookup returns a function that resolves the secrets of a call of a tool, and the callback address of the run. input has
// unresolved secrets.
func (s *setup) lookup(run string, node *walk.ProgramNode, input any) func(name string) (string, bool) {
	return func(name string) (string, bool) {
		switch {
		case name == walk.CallbackName && s.Callback == nil, name != walk.CallbackName && s.Secrets == nil:
			return "", false
		case name == walk.CallbackName:
			return s.Callback(run), true
		}
		return s.Secrets.Secret(name, node.Tool, input)
	}
}

// handlerOf returns the handler of a node.
func (s *setup) handlerOf(node *walk.ProgramNode) (Handler, *walk.Failure) {
	h, ok := s.Registry.Handler(node)
	if !ok {
		return nil, (&walk.Failure{Code: walk.CodeUnknownType}).WithMessage("no handler for steps of type %q", node.TypeName)
	}
	return h, nil
}

// skips reports whether a dry run skips a step with this input.
func (s *setup) skips(p *runstate.Compiled, node *walk.ProgramNode, dry, offline bool, input any) bool {
	if !dry || runstate.Builtin(node.Type) {
		return false
	}
	e := effectIn(s.Registry, p, node, input)
	return e != walk.EffectPure && (e != walk.EffectRead || offline)
}

// gate returns the call that needs the approval of a person before the node runs, or nil. answers are the answers so far.
func (s *setup) gate(plan string, node *walk.ProgramNode, input any, answers map[int]runstate.ConsentAnswer) (
	*runstate.ConsentRequest, *walk.Failure) {
	g, ok := s.Registry.(Gated)
	if !ok {
		return nil, nil
	}
	q, err := g.Gate(plan, node, input)
	if err != nil {
		return nil, walk.AsFailure(err)
	}
	if q == nil {
		return nil, nil
	}
	c, err := s.consentTo(0, *q)
	if err != nil {
		return nil, walk.AsFailure(err)
	}
	if answer, ok := answers[0]; ok && answer.Approved && answer.Digest == c.Digest {
		return nil, nil
	}
	return &c, nil
}
