package engine

import (
	"fmt"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// control starts a node of class control: a durable row that waits for time, a
// person or a child run. It holds no slot while it waits.
func (a *runner) control(w *runstate.Step, node *walk.ProgramNode) {
	input, failure := a.s.Walk.Input(w.VisitKey, w.Item)
	if failure != nil {
		a.refuse(w, failure)
		return
	}
	if _, err := jsonvalue.EncodeWithin(input, jsonvalue.MaxBytes); err != nil {
		a.refuse(w, inputFailure(node.ID, err))
		return
	}
	if a.run.Dry() && node.Type != walk.TypePlan {
		a.stub(w, node, input)
		return
	}
	switch node.Type {
	case walk.TypeWait:
		a.startTimer(w, node, input)
	case walk.TypeApproval:
		a.ask(w, node, input)
	case walk.TypePlan:
		a.startChild(w, node, input)
	}
}

// refuse fails work before anything of it has begun.
func (a *runner) refuse(w *runstate.Step, f *walk.Failure) {
	f.Permanent, f.NoEffect = true, true
	a.final(w, domain.NodeFailed, nil, runstate.FromPlanner(f, a.prog.Nodes[w.Node].ID), atOnce(w, a.e.now()))
	a.flush()
}

// waitRow appends the durable row of a wait.
func (a *runner) waitRow(w *runstate.Step, reason domain.WaitReason, input any, fill func(*domain.Entry)) {
	e := a.entry(domain.EntryWait, w.StepKey)
	e.Status, e.Reason, e.Attempt, e.Effect = domain.NodeWaiting, string(reason), w.Attempt+1, string(walk.EffectControl)
	e.StartedAt = e.At
	if raw, err := jsonvalue.Encode(input); err == nil { // it was rendered from JSON values
		e.Input = raw
	}
	fill(&e)
	a.add(e)
	a.dueDirty = true
}

// startTimer begins a `wait` node: input {for: 10m} or {until: RFC 3339}. Its
// output is what it was started with.
func (a *runner) startTimer(w *runstate.Step, node *walk.ProgramNode, input any) {
	due, err := timerDue(a.e.now(), input)
	if err != nil {
		a.refuse(w, &walk.Failure{Code: walk.CodeInvalidInput, Node: node.ID, Message: fmt.Sprintf("node %q: %s", node.ID, err),
			Suggestion: "write input: {for: 10m} or {until: 2026-01-31T09:00:00Z}"})
		return
	}
	if !due.After(a.e.now()) {
		a.final(w, domain.NodeCompleted, a.s.Walk.Last(w.VisitKey), nil, atOnce(w, a.e.now()))
		a.flush()
		return
	}
	a.waitRow(w, domain.WaitTimer, input, func(e *domain.Entry) { e.DueAt = due })
}

// timerDue reads the input of a `wait` node.
func timerDue(now time.Time, input any) (time.Time, error) {
	m, ok := input.(map[string]any)
	if !ok || len(m) != 1 {
		return time.Time{}, fmt.Errorf("a wait takes one of for and until")
	}
	if text, ok := m["for"].(string); ok {
		d, err := time.ParseDuration(text)
		if err != nil {
			return time.Time{}, fmt.Errorf("%q is not a duration", text)
		}
		if d < 0 {
			return time.Time{}, fmt.Errorf("the duration %s is negative", text)
		}
		return now.Add(d.Truncate(time.Microsecond)), nil
	}
	if text, ok := m["until"].(string); ok {
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return time.Time{}, fmt.Errorf("%q is not a time in RFC 3339 form", text)
		}
		return t.UTC().Truncate(time.Microsecond), nil
	}
	return time.Time{}, fmt.Errorf("a wait takes one of for and until, as text")
}
