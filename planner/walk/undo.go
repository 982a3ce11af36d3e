package walk

import "strings"

// UndoValues resolves the references in the input of the call that undoes a completed visit, or an item
// of it, by the text of each reference. Call it before the visit settles. References see the values of
// that time; last and the output of the step itself are output. It leaves secrets out.
func UndoValues(w *Walk, k VisitKey, item int, output any) (map[string]any, *Failure) {
	n := &w.p.Nodes[k.Node]
	s := w.scope(output)
	s.output = func(node string) (any, bool) {
		if node == n.ID {
			return output, item < 0
		}
		return w.Output(node)
	}
	if item >= 0 {
		if count, f := w.Items(k); f != nil {
			return nil, f
		} else if item < count {
			s.item, s.index = w.visit(k).items.list[item], item
		}
	}
	values := map[string]any{}
	for _, ref := range n.UndoReferences() {
		v, f := ref.resolve(&s)
		if f != nil {
			f.Node = n.ID
			return nil, f
		}
		values[ref.Text] = v
	}
	return values, nil
}

// lastReference is the input of an undo without one: the output of the step.
var lastReference = &Reference{Text: string(RefLast), Root: RefLast}

// UndoReferences returns the references in the input of the call that undoes the node, except secrets.
func (n *ProgramNode) UndoReferences() []*Reference {
	if n.Undo.Input == nil {
		return []*Reference{lastReference}
	}
	var out []*Reference
	for _, ref := range n.Undo.Input.refs {
		if ref.Root != RefSecret {
			out = append(out, ref.Reference)
		}
	}
	return out
}

// UndoInput returns the source of the input of the call that undoes the node, in which other references
// take the place of those that UndoReferences returns. rename returns the new text of a reference.
func (n *ProgramNode) UndoInput(rename func(text string) string) any {
	write := func(r *Reference) string {
		if r.Root == RefSecret {
			return "${" + r.Text + "}"
		}
		return "${" + rename(r.Text) + "}"
	}
	if n.Undo.Input == nil {
		return write(lastReference)
	}
	return n.Undo.Input.root.source(write)
}

func (p constPart) source(func(*Reference) string) any     { return escaped(p.v) }
func (p refPart) source(write func(*Reference) string) any { return write(p.ref) }

func (p textPart) source(write func(*Reference) string) any {
	var b strings.Builder
	for _, piece := range p.pieces {
		if ref, ok := piece.(*Reference); ok {
			b.WriteString(write(ref))
		} else {
			b.WriteString(escaped(piece).(string))
		}
	}
	return b.String()
}

func (p listPart) source(write func(*Reference) string) any {
	list := make([]any, len(p.parts))
	for i, e := range p.parts {
		list[i] = e.source(write)
	}
	return list
}

func (p mapPart) source(write func(*Reference) string) any {
	m := make(map[string]any, len(p.parts))
	for i, e := range p.parts {
		m[p.keys[i]] = e.source(write)
	}
	return m
}

// escaped returns the source of a constant.
func escaped(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "${", "$${")
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = escaped(e)
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = escaped(e)
		}
		return m
	}
	return v
}
