package walk

import (
	"context"
	"slices"
)

// decider makes the decisions of one settlement, either by evaluating conditions or from a record.
type decider struct {
	w        *Walk
	recorded *Decision // nil to evaluate
	made     Decision
	meter    *meter // for all conditions of the settlement; nil until the first
}

// scope returns what the evaluated conditions can read.
func (d *decider) scope(last any) scope {
	if d.meter == nil {
		d.meter = newMeter(context.Background(), decisionCost)
	}
	s := d.w.scope(last)
	s.meter = d.meter
	return s
}

// fail records that a decision of a node, or its `when`, failed the run. Only the first failure is
// recorded.
func (d *decider) fail(f *Failure, by int) {
	w := d.w
	if d.made.Failure == nil {
		d.made.Failure = f
	}
	w.nodes[by].decisionFailure = f
	w.failRun(f, w.p.Nodes[by].ID)
}

// Settle applies the final outcome of a visit or item. It evaluates conditions and returns the
// decision. It returns an error only if the visit or item is not open.
func (w *Walk) Settle(s Settlement) (Decision, error) {
	d := &decider{w: w}
	err := d.settle(s)
	return d.made, err
}

// Replay applies a recorded outcome with its recorded decision. It evaluates no condition. It
// returns an error if the record does not match the program.
func (w *Walk) Replay(s Settlement, d Decision) error {
	return (&decider{w: w, recorded: &d}).settle(s)
}

func (d *decider) settle(s Settlement) error {
	w := d.w
	v := w.visit(s.VisitKey)
	if v == nil {
		return w.p.errNotOpen(s.VisitKey)
	}
	if s.Item >= 0 && w.p.Nodes[s.Node].Foreach != nil {
		ended, output, failure, err := w.settleItem(v, s, d.recorded)
		if err != nil || ended == "" {
			return err
		}
		d.made.Visit = ended
		s.Status, s.Output, s.Failure = ended, output, failure
	}
	late := Lost(w, s.Node)
	w.close(v)
	n, node := &w.nodes[s.Node], &w.p.Nodes[s.Node]
	w.settled++
	before := n.visitResult
	n.visitResult, n.unhandled, n.settledAt = visitResult{status: s.Status, failure: s.Failure}, false, w.settled
	n.late = late
	n.previous, n.resultBefore, n.decisionFailure = nil, visitResult{}, nil
	take, edge := true, -1 // whether an edge may be chosen, and the edge that a failure takes
	last := s.Output
	switch s.Status {
	case Completed:
		n.hasOutput = true
	case Skipped: // by a person, after the start
		last = nil
	case Failed:
		take, edge, last = d.handle(n, node, s)
	case Cancelled:
		take, last = false, nil
	}
	if n.status == Cancelled || n.unhandled || d.made.Handled == "race" {
		n.previous, n.resultBefore = v, before
	}
	if n.hasOutput && (w.p.Kept == nil || w.p.Kept[s.Node]) {
		n.output = last
	} else {
		n.hasOutput = false
	}
	if !late && (edge < 0 || node.Out[edge].To == End) {
		w.last, w.lastNode = last, s.Node
	}
	if edge >= 0 {
		d.chosen(node, edge)
	} else if take && len(node.Out) > 0 {
		var err error
		if edge, err = d.choose(node, last); err != nil {
			return err
		}
	}
	d.move(node, edge, last)
	d.needsOf(s.Node)
	d.finish()
	if d.recorded != nil && d.recorded.Failure != nil && d.made.Failure == nil {
		return errRecorded
	}
	return nil
}

// close removes a visit from the open ones.
func (w *Walk) close(v *visit) {
	w.nodes[v.Node].open = nil
	w.open--
	if i := slices.Index(w.fresh, v.VisitKey); i >= 0 {
		w.fresh = slices.Delete(w.fresh, i, i+1)
	}
}

// handle returns what follows a failure of a visit: an edge, or -1 and whether one may be chosen.
func (d *decider) handle(n *nodeState, node *ProgramNode, s Settlement) (take bool, edge int, last any) {
	w := d.w
	if s.Failure != nil {
		s.Failure.Node = node.ID
	}
	edge, on := node.AfterFailure(s.Failure)
	switch {
	case edge >= 0:
		d.made.Handled, n.handedOver = "edge", true
		return true, edge, errorValue(s.Failure, node.ID)
	case on == OnErrorContinue:
		d.made.Handled = "continue"
		n.continued, n.hasOutput = true, true
		return true, -1, nil
	case on == OnErrorSkip:
		d.made.Handled = "skip"
		n.status = Skipped
		return true, -1, nil
	}
	if !node.rejectedWith(s.Failure) && slices.ContainsFunc(node.Dependents, func(i int) bool {
		return w.p.Nodes[i].When == WhenFailure && w.p.Nodes[i].WhenCond == nil
	}) {
		d.made.Handled = "when"
		return false, -1, nil
	}
	if Lost(w, node.Index) || !node.rejectedWith(s.Failure) && losesRace(w, node.Index) {
		d.made.Handled = "race"
		return false, -1, nil
	}
	n.unhandled = true
	w.rejected = w.rejected || node.rejectedWith(s.Failure)
	w.failRun(s.Failure, node.ID)
	return false, -1, nil
}

// failRun records an unhandled failure. A failure of a finally step changes nothing.
func (w *Walk) failRun(f *Failure, node string) {
	if f == nil {
		f = (&Failure{Code: CodeFailed, Node: node}).WithMessage("node %q failed", node)
	}
	if w.end != nil {
		return
	}
	if w.failure == nil {
		w.failure = f
	}
	w.failed = true
}

// errorValue is the value of `last` after an error edge.
func errorValue(f *Failure, node string) any {
	if f == nil {
		return map[string]any{"error": "failed", "code": CodeFailed, "node": node}
	}
	return map[string]any{"error": f.Message, "code": f.Code, "node": node}
}

// choose selects an edge out of a completed node: the first whose condition holds and that is not a
// fallback, else the first fallback.
func (d *decider) choose(node *ProgramNode, last any) (int, error) {
	w := d.w
	if len(node.Out) == 1 && node.Out[0].Cond.Fallback() {
		return 0, nil // nothing to record
	}
	if r := d.recorded; r != nil {
		d.made.Evaluated, d.made.Ended, d.made.Edge, d.made.To = r.Evaluated, r.Ended, r.Edge, r.To
		broken := len(r.Evaluated) > 0 && r.Evaluated[len(r.Evaluated)-1].Result == "error"
		if broken || r.Ended != "" && w.p.Strict && !node.EndsOK {
			if r.Failure == nil {
				return -1, errRecorded
			}
			d.fail(r.Failure, node.Index)
		}
		if r.Edge == 0 {
			return -1, nil
		}
		i := slices.IndexFunc(node.Out, func(e ProgramEdge) bool { return e.Position == r.Edge-1 })
		if i < 0 {
			return -1, errRecorded
		}
		return i, nil
	}
	s := d.scope(last)
	fallback, candidates := -1, false
	for i, e := range node.Out {
		switch {
		case e.Cond.OnFailure():
			continue
		case e.Cond.Fallback():
			candidates = true
			if fallback < 0 {
				fallback = i
			}
			continue
		}
		candidates = true
		holds, ev, failure := e.Cond.evaluate(&s)
		ev.To = w.p.Target(e)
		d.made.Evaluated = append(d.made.Evaluated, ev)
		if failure != nil {
			failure.Node = node.ID
			d.fail(failure, node.Index)
			return -1, nil
		}
		if holds {
			return d.chosen(node, i), nil
		}
	}
	switch {
	case fallback >= 0:
		return d.chosen(node, fallback), nil
	case !candidates:
		return -1, nil // only error edges: the run may end here
	}
	d.made.Ended = "no edge matched"
	if w.p.Strict && !node.EndsOK {
		d.fail((&Failure{Code: CodeNoEdge, Node: node.ID, Permanent: true,
			Suggestion: "add an edge with condition: default, or ends: ok"}).
			WithMessage("no edge out of node %q matched", node.ID), node.Index)
	}
	return -1, nil
}

func (d *decider) chosen(node *ProgramNode, i int) int {
	d.made.Edge, d.made.To = node.Out[i].Position+1, d.w.p.Target(node.Out[i])
	return i
}

// move moves the token over the chosen edge, or ends it.
func (d *decider) move(node *ProgramNode, edge int, last any) {
	w := d.w
	t := w.tokenOf(node.Index)
	if edge < 0 || node.Out[edge].To == End {
		if t != nil {
			t.ended = true
			d.skipDeadPaths(t)
		}
		return
	}
	to := node.Out[edge].To
	target := &w.nodes[to]
	if limit := w.p.Nodes[to].MaxVisits; target.visits-target.before >= limit {
		f := (&Failure{Code: CodeMaxVisits, Node: w.p.Nodes[to].ID, Permanent: true, NoEffect: true,
			Suggestion: "set max_visits on the node, or add an edge that leaves the loop"}).
			WithMessage("cycle detected at node %q", w.p.Nodes[to].ID)
		if limit > 1 {
			f.WithMessage("node %q exceeded max_visits %d", w.p.Nodes[to].ID, limit)
		}
		d.fail(f, node.Index)
		if t != nil {
			t.ended = true
			d.skipDeadPaths(t)
		}
		return
	}
	if w.Stopping() {
		target.held = &visit{VisitKey: VisitKey{to, target.visits + 1}, last: last}
		if t != nil {
			t.at = to
		}
	} else {
		w.begin(to, last)
	}
	if t != nil && len(node.Out) > 1 {
		d.skipDeadPaths(t)
	}
}

// skipDeadPaths settles the nodes that the token can no longer reach as skipped.
func (d *decider) skipDeadPaths(t *token) {
	w := d.w
	var dead []int
	for _, i := range w.unreachable(t) {
		n := &w.nodes[i]
		n.status, n.unvisited = Skipped, true
		dead = append(dead, i)
		d.made.Settled = append(
			d.made.Settled,
			Consequence{Node: w.p.Nodes[i].ID, Status: "skipped", Reason: "no path leads here anymore"},
		)
	}
	for _, i := range dead {
		d.needsOf(i)
	}
}

// unreachable returns the watched nodes of the token's region that were never visited and can no
// longer be reached.
func (w *Walk) unreachable(t *token) []int {
	open := slices.DeleteFunc(
		slices.Clone(t.watched),
		func(i int) bool {
			n := &w.nodes[i]
			return n.visits > n.before || n.held != nil || n.unvisited
		},
	)
	if len(open) == 0 || t.ended {
		return open
	}
	if !t.started {
		return nil
	}
	if w.stamps == nil {
		w.stamps = make([]int, len(w.nodes))
	}
	w.stampNext++
	queue := []int{t.at}
	w.stamps[t.at] = w.stampNext
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, e := range w.p.Nodes[v].Out {
			if e.To != End && w.stamps[e.To] != w.stampNext {
				w.stamps[e.To] = w.stampNext
				queue = append(queue, e.To)
			}
		}
	}
	return slices.DeleteFunc(open, func(i int) bool { return w.stamps[i] == w.stampNext })
}

// needsOf updates the dependents of a settled node.
func (d *decider) needsOf(node int) {
	w := d.w
	for _, i := range w.p.Nodes[node].Dependents {
		n := &w.nodes[i]
		n.openNeeds--
		if won := w.p.Nodes[i].When == WhenFirst && w.nodes[node].status == Completed; (n.openNeeds == 0 || won) && !n.decided {
			d.decide(i)
		}
	}
}

// decide decides whether a node runs whose needs have all settled.
func (d *decider) decide(i int) {
	w := d.w
	if w.stopped {
		return // decided by a reset
	}
	node, n := &w.p.Nodes[i], &w.nodes[i]
	runs, reason := joins(w, node)
	var ev *Evaluation
	switch {
	case Lost(w, i):
		runs, reason = false, reasonLost
	case d.recorded != nil:
		runs, reason, ev = d.recordedJoin(node, runs, reason)
	case runs && node.WhenCond != nil:
		runs, reason, ev = d.condition(node)
	}
	if runs && w.Stopping() && !node.When.AfterFailure() {
		return // nothing starts any more; a reset decides again
	}
	n.decided = true
	if !runs && node.When == WhenFirst {
		if f := lastFailure(w, i); f != nil {
			d.fail(f, i)
		}
	}
	if !runs || ev != nil {
		c := Consequence{Node: node.ID, Visit: n.visits + 1, Status: "ready", Reason: reason, Need: needOfReason(w, node, reason),
			Evaluated: ev}
		if !runs {
			c.Status, c.Visit = "skipped", 0
		}
		d.made.Settled = append(d.made.Settled, c)
	}
	if runs {
		w.begin(i, joinedInput(w, node))
		return
	}
	n.status, n.unvisited, n.lostUnvisited = Skipped, true, reason == reasonLost
	if w.p.Sequential && !node.Finally {
		w.last = nil
		n.handedOver = slices.ContainsFunc(node.Needs, func(j int) bool { return w.nodes[j].handedOver })
	}
	if t := w.tokens[i]; t != nil {
		t.ended = true
		d.skipDeadPaths(t)
	}
	d.needsOf(i)
}

// needOfReason returns the need that a skip reason refers to, or "".
func needOfReason(w *Walk, node *ProgramNode, reason string) string {
	for _, j := range node.Needs {
		if id := w.p.Nodes[j].ID; reason == id+" failed" || reason == id+" was skipped" || reason == id+" was cancelled" {
			return id
		}
	}
	return ""
}
