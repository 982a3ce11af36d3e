package walk

import "cmp"

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
	s := w.scope(v.last)
	s.secret = secret
	if item >= 0 {
		if _, err := w.Items(k); err != nil {
			return nil, err
		}
		if item >= len(v.items.list) {
			return nil, (&Failure{
				Code:      CodeForeach,
				Permanent: true,
				NoEffect:  true,
			}).WithMessage("node %q has no item %d", n.ID, item)
		}
		s.item, s.index = v.items.list[item], item
	}
	if n.Input == nil {
		switch {
		case item >= 0 && n.Block != nil:
			return itemInput(s.item, item), nil
		case item >= 0:
			return s.item, nil
		}
		return v.last, nil
	}
	out, err := n.Input.render(&s)
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
