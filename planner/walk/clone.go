package walk

import "slices"

// Clone returns a copy of the walk. Changes of one do not affect the other. Both share inputs and
// outputs, which a walk never changes.
func (w *Walk) Clone() *Walk {
	c := *w
	c.fresh, c.stamps = slices.Clone(w.fresh), slices.Clone(w.stamps)
	c.nodes = slices.Clone(w.nodes)
	for i := range c.nodes {
		n := &c.nodes[i]
		n.open, n.held, n.previous = n.open.clone(), n.held.clone(), n.previous.clone()
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

// clone copies a visit, or returns nil for nil. A node refers to each of its visits once.
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
