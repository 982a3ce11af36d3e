package walk

// A plan may have finally steps. They run when all other steps have ended, whatever the outcome is. The
// outcome is decided before they start, and they do not change it.

// mainEnd is what the other steps left when they ended.
type mainEnd struct {
	Outcome
	last     any
	lastNode int
}

// Finishing reports whether all steps but the finally steps have ended.
func (w *Walk) Finishing() bool { return w.end != nil }

// finish starts the finally steps if all other steps have ended.
func (d *decider) finish() {
	w := d.w
	if w.end != nil || w.open > 0 || len(w.p.Finally) == 0 {
		return
	}
	w.end = &mainEnd{Outcome: w.Outcome(), last: w.last, lastNode: w.lastNode}
	w.failure, w.failed, w.rejected, w.stopped, w.overdue = nil, false, false, false, false
	for _, i := range w.p.Finally {
		if w.p.Nodes[i].WhenCond != nil {
			d.decide(i)
		} else {
			w.begin(i, w.end.value())
		}
	}
}

// value is what finally steps start with: how the other steps ended.
func (e *mainEnd) value() any {
	v := map[string]any{"status": string(e.Status), "output": e.Output}
	if f := e.Failure; f != nil {
		v["error"], v["code"], v["node"] = f.Message, f.Code, f.Node
	}
	return v
}

// unfinish returns to the time before the finally steps. They are forgotten, and run again later.
func unfinish(w *Walk) {
	if w.end == nil {
		return
	}
	w.last, w.lastNode = w.end.last, w.end.lastNode
	w.end = nil
}

// anyMain reports whether the set has a node that is not a finally step.
func (p *Program) anyMain(set []bool) bool {
	for i, in := range set {
		if in && !p.Nodes[i].Finally {
			return true
		}
	}
	return false
}
