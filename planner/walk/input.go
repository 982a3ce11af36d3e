package walk

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// SetMemory sets the text that the memory returned for the run. Call it before the first node gets
// its input, and before every replay.
func (w *Walk) SetMemory(v any) { w.facts.Memory = v }

// scope returns what references and conditions of a visit can read. For outgoing conditions, last
// is the output of the node.
func (w *Walk) scope(last any) scope {
	return scope{input: w.facts.Input, last: last, memory: w.facts.Memory, item: w.item, index: w.index, runID: w.facts.RunID,
		slot:   w.facts.Slot,
		output: w.Output, continued: w.continues, outputs: w.outputs, values: w.p.Values,
		status:   func(node string) Status { return statusOf(w, node) },
		statuses: func() map[string]Status { return statuses(w) }}
}

// statusOf is how a node's latest visit settled; [Skipped] if none has.
func statusOf(w *Walk, node string) Status {
	i, ok := w.p.Index[node]
	if !ok {
		return Skipped
	}
	return shownStatus(w, i)
}

// shownStatus is the status that expressions see.
func shownStatus(w *Walk, i int) Status {
	if isLate(w, i) {
		return Cancelled
	}
	return cmp.Or(w.nodes[i].status, Skipped)
}

func statuses(w *Walk) map[string]Status {
	m := make(map[string]Status, len(w.nodes))
	for i := range w.nodes {
		m[w.p.Nodes[i].ID] = shownStatus(w, i)
	}
	return m
}

func (w *Walk) outputs() map[string]any {
	m := map[string]any{}
	for i := range w.nodes {
		if w.nodes[i].hasOutput {
			m[w.p.Nodes[i].ID] = w.nodes[i].output
		}
	}
	return m
}

// Last returns the value of `last` for references and conditions of the visit. It is also the input
// of a node that has none.
func (w *Walk) Last(v VisitKey) any {
	if o := w.visit(v); o != nil {
		return o.last
	}
	return nil
}

// Input resolves the input of a visit. item is the index of the item in a foreach, else -1.
// References to secrets and to the callback address are not resolved.
func (w *Walk) Input(v VisitKey, item int) (any, *Failure) {
	return w.DispatchInput(v, item, nil)
}

// DispatchInput is Input with secrets and the callback address ([CallbackName]) resolved. It does not resolve text in data that only looks
// like a reference to a secret.
func (w *Walk) DispatchInput(k VisitKey, item int, secret func(name string) (string, bool)) (any, *Failure) {
	v := w.visit(k)
	if v == nil {
		return nil, (&Failure{Code: CodeFailed, Permanent: true, NoEffect: true}).WithMessage("%s", w.p.errNotOpen(k))
	}
	n := &w.p.Nodes[k.Node]
	s, err := visitScope(w, v, item)
	if err != nil {
		return nil, err
	}
	s.secret = secret
	if n.Input == nil {
		switch {
		case item >= 0 && n.Block != nil:
			return itemInput(s.item, item), nil
		case item >= 0:
			return s.item, nil
		}
		return v.last, nil
	}
	out, err := n.Input.render(s)
	if err != nil {
		err.Node = n.ID
		return nil, err
	}
	if item >= 0 && n.Block != nil {
		in := itemInput(s.item, item)
		in["input"] = out
		return in, nil
	}
	return out, nil
}

// visitScope is what references in the input of a visit, or of one item of it, can read.
func visitScope(w *Walk, v *visit, item int) (*scope, *Failure) {
	s := w.scope(v.last)
	if item < 0 {
		return &s, nil
	}
	if _, err := w.Items(v.VisitKey); err != nil {
		return nil, err
	}
	if item >= len(v.items.list) {
		return nil, (&Failure{Code: CodeForeach, Permanent: true, NoEffect: true}).
			WithMessage("node %q has no item %d", w.p.Nodes[v.Node].ID, item)
	}
	s.item, s.index = v.items.list[item], item
	return &s, nil
}

// ChildPlan returns the name of the plan that an open visit of a plan node runs, or an item of it.
func ChildPlan(w *Walk, k VisitKey, item int) (string, *Failure) {
	n, v := &w.p.Nodes[k.Node], w.visit(k)
	if n.Computed == nil || v == nil {
		return n.Plan, nil
	}
	s, f := visitScope(w, v, item)
	if f != nil {
		return "", f
	}
	value, f := n.Computed.render(s)
	if f != nil {
		f.Node = n.ID
		return "", f
	}
	name := jsonvalue.Text(value)
	if !slices.Contains(n.Plans, name) {
		f = &Failure{Code: CodePlanNotListed, Node: n.ID, Permanent: true, NoEffect: true,
			Suggestion: "add it to plans: of the step, and fork the run with the new version"}
		return "", f.WithMessage("plan %s is not in the list of the step: %s", jsonvalue.Quote(name), strings.Join(n.Plans, ", "))
	}
	return name, nil
}

// PlanNames lists the plans that a plan node may run, by key or key@version.
func (n *ProgramNode) PlanNames() []string {
	switch {
	case n.Block != nil:
		return nil
	case n.Computed != nil:
		return n.Plans
	}
	return []string{n.Plan}
}
