package walk

// Remember returns what memory returned for the run. It is called before
// the first node is given its input, and again by every replay.
func (w *Walk) Remember(v any) { w.facts.Memory = v }

// scope is what references and conditions of a visit see. Outgoing conditions
// see the node's own output as last; they pass it in.
func (w *Walk) scope(last any) scope {
	return scope{input: w.facts.Input, last: last, memory: w.facts.Memory, index: -1, runID: w.facts.RunID,
		output: w.Output, continued: w.continues, outputs: w.outputs}
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

// Last is the value that conditions, references and a missing input see as
// `last` in the visit.
func (w *Walk) Last(v VisitKey) any {
	if o := w.visit(v); o != nil {
		return o.last
	}
	return nil
}

// Input resolves the visit's input; item is -1 without foreach. References to
// secrets stay as they are written.
func (w *Walk) Input(v VisitKey, item int) (any, *Failure) {
	return w.DispatchInput(v, item, nil)
}

// DispatchInput is Input with secrets resolved. A value that merely looks like
// a reference to a secret, because data held that text, stays text.
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
		if item >= 0 {
			return s.item, nil
		}
		return v.last, nil
	}
	out, err := n.Input.render(&s)
	if err != nil {
		err.Node = n.ID
		return nil, err
	}
	return out, nil
}
