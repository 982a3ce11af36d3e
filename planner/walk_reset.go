package planner

// CodeNotResumable: the run failed by a decision on nodes that are kept, so
// that running again would decide the same (ruling 10).
const CodeNotResumable = "not_resumable"

// Reset opens a failed or cancelled walk again: unhandled failed and cancelled
// visits, everything that was skipped because of them, and what ran only
// because they failed. Handled failures stay. It fails with code
// "not_resumable" when the failure was a decision on kept nodes.
func (w *Walk) Reset() (Reset, *Failure) { return w.reset(nil) }

func (w *Walk) reset(recorded *Reset) (Reset, *Failure) {
	if w.decided {
		return Reset{}, &Failure{Code: CodeNotResumable, Permanent: true, Suggestion: "fork the run with an edited output, input or plan version",
			Message: "the failure is a decision on steps that are kept: " + w.failure.Message}
	}
	var r Reset
	undone := make([]bool, len(w.nodes)) // no longer settled
	again := map[int]*visit{}
	for i := range w.nodes {
		n := &w.nodes[i]
		if n.previous == nil {
			continue
		}
		v := n.previous
		again[i] = v
		opened := ResetVisit{Node: w.p.Nodes[i].ID, Visit: v.Visit}
		if v.items != nil {
			opened.Items = v.items.reopen()
		}
		r.Reopened = append(r.Reopened, opened)
		*n = nodeState{visits: v.Visit, decided: n.decided}
		undone[i] = true
	}
	w.forget(undone, &r)
	w.failure, w.failed, w.stopped = nil, false, false
	w.recount(undone)
	for i := range w.nodes {
		n := &w.nodes[i]
		switch {
		case again[i] != nil && n.visits > 0:
			w.start(again[i])
		case n.parked != nil:
			v := n.parked
			n.parked = nil
			w.start(v)
		}
	}
	d := &decider{}
	if recorded != nil {
		d.recorded = &Decision{Settled: recorded.Decided}
	}
	for i := range w.nodes {
		if t := w.tokens[i]; t != nil {
			w.deadPaths(t, d)
		}
	}
	for i := range w.p.Nodes {
		if n := &w.nodes[i]; len(w.p.Nodes[i].Needs) > 0 && n.left == 0 && !n.decided {
			w.decide(i, d)
		}
	}
	r.Decided = d.made.Settled
	return r, nil
}

// recount derives again, from what is settled, how many needs are open and
// which tokens move.
func (w *Walk) recount(undone []bool) {
	for i := range w.p.Nodes {
		w.nodes[i].left = 0
		for _, j := range w.p.Nodes[i].Needs {
			if w.nodes[j].status == "" {
				w.nodes[i].left++
			}
		}
	}
	for _, t := range w.tokens {
		if t.started && undone[t.at] {
			t.ended = false
		}
	}
}

// ReplayReset applies a recorded reset. What it opens follows from the walk; no
// condition is evaluated.
func (w *Walk) ReplayReset(r Reset) error {
	if _, err := w.reset(&r); err != nil {
		return errRecorded
	}
	return nil
}

// forget undoes, to the fixpoint, nodes with needs that were decided although a
// need is no longer settled, and all that their tokens reached.
func (w *Walk) forget(undone []bool, r *Reset) {
	clear := func(i int) {
		n := &w.nodes[i]
		if n.visits > 0 || n.unvisited {
			r.Forgotten = append(r.Forgotten, ResetVisit{Node: w.p.Nodes[i].ID, Visit: n.visits})
		}
		if n.open != nil {
			w.close(n.open)
		}
		*n = nodeState{left: n.left}
		undone[i] = true
	}
	for changed := true; changed; {
		changed = false
		// What was skipped as unreachable is so no more once its token moves again.
		for i := range w.nodes {
			if n := &w.nodes[i]; n.unvisited && w.p.owner[i] >= 0 && w.p.owner[i] != i && w.revived(i, undone) {
				clear(i)
				changed = true
			}
		}
		for i := range w.p.Nodes {
			n := &w.nodes[i]
			if !n.decided {
				continue
			}
			for _, j := range w.p.Nodes[i].Needs {
				if !undone[j] {
					continue
				}
				for k, source := range w.p.owner {
					if source == i {
						clear(k)
					}
				}
				if t := w.tokens[i]; t != nil {
					t.started, t.ended = false, false
				}
				changed = true
				break
			}
		}
	}
	kept := r.Reopened[:0]
	for _, v := range r.Reopened {
		if w.nodes[w.p.Index[v.Node]].visits > 0 {
			kept = append(kept, v)
		}
	}
	r.Reopened = kept
}

// revived reports whether the token of a node's region stands at an undone
// visit again.
func (w *Walk) revived(i int, undone []bool) bool {
	t := w.tokenOf(i)
	return t != nil && t.started && undone[t.at]
}
