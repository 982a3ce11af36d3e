package walk

import "slices"

// Clone returns a copy of the walk that can be driven on its own. The values of both
// (inputs and outputs) are the same; they are never changed.
func (w *Walk) Clone() *Walk {
	c := *w
	c.fresh, c.stamps = slices.Clone(w.fresh), slices.Clone(w.stamps)
	c.nodes = slices.Clone(w.nodes)
	for i := range c.nodes {
		n := &c.nodes[i]
		n.open, n.parked, n.previous = n.open.clone(), n.parked.clone(), n.previous.clone()
	}
	if w.tokens != nil {
		c.tokens = make(map[int]*token, len(w.tokens))
		for source, t := range w.tokens {
			own := *t
			c.tokens[source] = &own
		}
	}
	return &c
}

// clone copies a visit; nil for nil. A node refers to each of its visits once.
func (v *visit) clone() *visit {
	if v == nil {
		return nil
	}
	c := *v
	if v.items != nil {
		it := *v.items
		it.status, it.outputs, it.started = slices.Clone(it.status), slices.Clone(it.outputs), slices.Clone(it.started)
		c.items = &it
	}
	return &c
}
