package walk

import (
	"slices"
)

// CodeNotResumable reports that a decision on nodes that a resume keeps failed the run. A resume
// would make the same decision.
const CodeNotResumable = "not_resumable"

// Reset prepares a failed or cancelled walk for a resume. It reopens visits that failed unhandled
// or were cancelled. It also undoes what was skipped because of them, or ran only because they
// failed. Handled failures stay. If a decision on nodes that are kept failed the run, Reset fails
// with [CodeNotResumable].
func (w *Walk) Reset() (Reset, *Failure) { return w.reset(nil) }

func (w *Walk) reset(recorded *Reset) (Reset, *Failure) {
	undone, forgotten := w.undo()
	for i := range w.nodes {
		if f := w.nodes[i].decisionFailure; f != nil && !undone[i] {
			return Reset{}, (&Failure{
				Code:       CodeNotResumable,
				Permanent:  true,
				Suggestion: "fork the run with an edited output, input or plan version",
			}).WithMessage("a resume would fail the same way: %s", f)
		}
	}
	if out := w.Outcome(); !w.p.anyMain(undone) && out.Failure != nil && out.Failure.Code == CodeResult {
		return Reset{}, (&Failure{Code: CodeNotResumable, Permanent: true, Suggestion: out.Failure.Suggestion}).
			WithMessage("the failure is in the plan's result: %s", out.Failure)
	}
	var r Reset
	var again []*visit
	for i := range w.nodes {
		n := &w.nodes[i]
		switch {
		case forgotten[i]:
			w.forget(i, &r)
		case n.previous != nil && undone[i]:
			v := n.previous
			opened := ResetVisit{Node: w.p.Nodes[i].ID, Visit: v.Visit}
			if v.items != nil {
				opened.Items = v.items.reopen()
			}
			r.Reopened = append(r.Reopened, opened)
			*n = nodeState{visits: v.Visit, decided: n.decided, visitResult: n.resultBefore}
			again = append(again, v)
		case n.held != nil:
			again = append(again, n.held)
			n.visits, n.held = n.held.Visit, nil
		}
	}
	w.failure, w.failed, w.rejected, w.stopped, w.overdue = nil, false, false, false, false
	unfinish(w)
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
			d.skipDeadPaths(t)
		}
	}
	for i := range w.p.Nodes {
		won := w.p.Nodes[i].When == WhenFirst && winner(w, i, nil) >= 0
		if n := &w.nodes[i]; len(w.p.Nodes[i].Needs) > 0 && (n.openNeeds == 0 || won) && !n.decided {
			d.decide(i)
		}
	}
	d.finish()
	r.Decided = d.made.Settled
	return r, nil
}

// recount computes from the settled visits how many needs are open and which tokens move.
func (w *Walk) recount(undone []bool) {
	for i := range w.p.Nodes {
		w.nodes[i].openNeeds = 0
		for _, j := range w.p.Nodes[i].Needs {
			if w.nodes[j].status == "" {
				w.nodes[i].openNeeds++
			}
		}
	}
	for _, t := range w.tokens {
		if t.started && undone[t.at] {
			t.ended = false
		}
	}
}

// ReplayReset applies a recorded reset. It computes what is reopened from the walk, and evaluates
// no condition.
func (w *Walk) ReplayReset(r Reset) error {
	if _, err := w.reset(&r); err != nil {
		return errRecorded
	}
	return nil
}

// undo finds, to the fixpoint, what a rerun of failed and cancelled visits makes invalid. forgotten
// holds the nodes with needs that were decided although a need is open again, with everything their
// tokens reached. It also holds nodes that were skipped because no token could reach them.
func (w *Walk) undo() (undone, forgotten []bool) {
	undone, forgotten = make([]bool, len(w.nodes)), make([]bool, len(w.nodes))
	var queue []int
	for i := range w.nodes {
		if undone[i] = w.nodes[i].previous != nil && (w.nodes[i].unhandled || !Lost(w, i)); undone[i] {
			queue = append(queue, i)
		}
	}
	forget := func(i int) { undone[i], forgotten[i] = true, true }
	for i := range w.nodes {
		if w.p.Nodes[i].Finally { // they run again when the other steps have ended again
			forget(i)
		}
	}
	// Nodes that became unreachable because of the failure can be reached again. Nodes that were
	// unreachable before stay skipped.
	reached := make([]bool, len(w.nodes))
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		for _, e := range w.p.Nodes[i].Out {
			if e.To != End && !reached[e.To] {
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
			if !undone[i] && reopensRace(w, i, undone) {
				undone[i], forgotten[i], changed = true, w.nodes[i].lostUnvisited, true
			}
			if !w.nodes[i].decided || forgotten[i] || !stale(w, i, undone) {
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

// stale reports whether a node was decided by needs of which one is undone. A race depends on its winner alone.
func stale(w *Walk, i int, undone []bool) bool {
	if w.p.Nodes[i].When == WhenFirst {
		if won := winner(w, i, nil); won >= 0 {
			return undone[won]
		}
	}
	return slices.ContainsFunc(w.p.Nodes[i].Needs, func(j int) bool { return undone[j] })
}

// forget resets a node to the state before its first visit. A finally step counts on: its next visit is
// for another end of the run, and needs an idempotency key of its own.
func (w *Walk) forget(i int, r *Reset) {
	n := &w.nodes[i]
	if n.visits > n.before || n.unvisited {
		r.Forgotten = append(r.Forgotten, ResetVisit{Node: w.p.Nodes[i].ID, Visit: n.visits})
	}
	if n.open != nil {
		w.close(n.open)
	}
	if t := w.tokens[i]; t != nil {
		t.started, t.ended = false, false
	}
	visits := 0
	if w.p.Nodes[i].Finally {
		visits = n.visits
	}
	*n = nodeState{openNeeds: n.openNeeds, visits: visits, before: visits}
}
