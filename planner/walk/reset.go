package walk

import (
	"slices"
)

// CodeNotResumable: the run failed by a decision on nodes that are kept, so
// that running again would decide the same.
const CodeNotResumable = "not_resumable"

// Reset opens a failed or cancelled walk again: unhandled failed and cancelled
// visits, everything that was skipped because of them, and what ran only
// because they failed. Handled failures stay. It fails with code
// "not_resumable" when the failure was a decision on kept nodes.
func (w *Walk) Reset() (Reset, *Failure) { return w.reset(nil) }

func (w *Walk) reset(recorded *Reset) (Reset, *Failure) {
	undone, forgotten := w.undo()
	for i := range w.nodes {
		if f := w.nodes[i].broke; f != nil && !undone[i] {
			return Reset{}, (&Failure{
				Code:       CodeNotResumable,
				Permanent:  true,
				Suggestion: "fork the run with an edited output, input or plan version",
			}).WithMessage("the failure is a decision on steps that are kept: %s", f)
		}
	}
	var r Reset
	var again []*visit
	for i := range w.nodes {
		n := &w.nodes[i]
		switch {
		case forgotten[i]:
			w.forget(i, &r)
		case n.previous != nil:
			v := n.previous
			opened := ResetVisit{Node: w.p.Nodes[i].ID, Visit: v.Visit}
			if v.items != nil {
				opened.Items = v.items.reopen(w.p.Nodes[i].OnError)
			}
			r.Reopened = append(r.Reopened, opened)
			*n = nodeState{visits: v.Visit, decided: n.decided, standing: n.before}
			again = append(again, v)
		case n.parked != nil:
			again = append(again, n.parked)
			n.visits, n.parked = n.parked.Visit, nil
		}
	}
	w.failure, w.failed, w.rejected, w.stopped = nil, false, false, false
	w.recount(undone)
	for _, v := range again {
		w.start(v)
	}
	d := &decider{w: w}
	if recorded != nil {
		d.recorded = &Decision{Settled: recorded.Decided}
	}
	for i := range w.nodes {
		if t := w.tokens[i]; t != nil {
			d.deadPaths(t)
		}
	}
	for i := range w.p.Nodes {
		if n := &w.nodes[i]; len(w.p.Nodes[i].Needs) > 0 && n.left == 0 && !n.decided {
			d.decide(i)
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

// undo finds what no longer stands once what failed unhandled or was cancelled
// runs again, to the fixpoint: forgotten are nodes with needs that were decided
// although a need is no longer settled, with all that their tokens reached, and
// what was skipped because no token could reach it.
func (w *Walk) undo() (undone, forgotten []bool) {
	undone, forgotten = make([]bool, len(w.nodes)), make([]bool, len(w.nodes))
	var queue []int
	for i := range w.nodes {
		if undone[i] = w.nodes[i].previous != nil; undone[i] {
			queue = append(queue, i)
		}
	}
	forget := func(i int) { undone[i], forgotten[i] = true, true }
	// What no token could reach any more because of the failure can be reached
	// again; what was out of reach before it stays so.
	reached := make([]bool, len(w.nodes))
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		for _, e := range w.p.Nodes[i].Out {
			if !reached[e.To] {
				reached[e.To] = true
				queue = append(queue, e.To)
				if w.nodes[e.To].unvisited {
					forget(e.To)
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for i := range w.nodes {
			if !w.nodes[i].decided || forgotten[i] || !slices.ContainsFunc(w.p.Nodes[i].Needs, func(j int) bool { return undone[j] }) {
				continue
			}
			for k, source := range w.p.Owner {
				if source == i {
					forget(k)
				}
			}
			changed = true
		}
	}
	return undone, forgotten
}

// forget makes a node as if nothing had come to it yet.
func (w *Walk) forget(i int, r *Reset) {
	n := &w.nodes[i]
	if n.visits > 0 || n.unvisited {
		r.Forgotten = append(r.Forgotten, ResetVisit{Node: w.p.Nodes[i].ID, Visit: n.visits})
	}
	if n.open != nil {
		w.close(n.open)
	}
	if t := w.tokens[i]; t != nil {
		t.started, t.ended = false, false
	}
	*n = nodeState{left: n.left}
}
