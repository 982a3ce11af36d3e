package plannertest

import (
	"fmt"
	"slices"

	"github.com/kairosd/kairosd/planner/walk"
)

// Settle applies a final outcome: first the decision, then nodes that can no longer be reached,
// then nodes whose needs have all settled.
func (r *Reference) Settle(s walk.Settlement) (walk.Decision, error) {
	n, def := &r.nodes[s.Node], &r.p.Nodes[s.Node]
	if n.open == nil || n.open.n != s.Visit {
		return walk.Decision{}, fmt.Errorf("visit %d of %s is not open", s.Visit, def.ID)
	}
	var d walk.Decision
	settled := s
	if s.Item >= 0 && def.Foreach != nil {
		if _, f := r.Items(s.VisitKey); f != nil {
			return d, f
		}
		if s.Item >= len(n.open.items) || n.open.items[s.Item].status != "" {
			return d, fmt.Errorf("item %d of %s is not open", s.Item, def.ID)
		}
		var over bool
		if s, over = r.settleItem(n.open, def, s); !over {
			r.log = append(r.log, event{Settlement: settled})
			return d, nil
		}
		d.Visit = s.Status
	}
	late := r.lost(s.Node) || r.again != nil && r.again[s.Node].late
	n.open = nil
	n.settled, n.status, n.output, n.has, n.failure, n.unhandled = true, s.Status, nil, false, s.Failure, false
	n.continued, n.handed, n.raced, n.late = false, false, false, late

	edge, last := -1, any(nil)
	errorEdge, onError := afterFailure(def, s.Failure)
	follow := true // whether to evaluate the edges
	switch {
	case s.Status == walk.Completed:
		n.output, n.has, last = s.Output, true, s.Output
	case s.Status == walk.Cancelled:
		n.unhandled, follow = true, false
	case s.Status == walk.Skipped: // by an operator
	case errorEdge >= 0:
		d.Handled, edge, last, follow, n.handed = "edge", errorEdge, failureValue(s.Failure, def.ID), false, true
	case onError == walk.OnErrorContinue:
		d.Handled, n.continued, n.has = "continue", true, true
	case onError == walk.OnErrorSkip:
		d.Handled, n.status = "skip", walk.Skipped
	case !rejection(def, s.Failure) && slices.ContainsFunc(r.needing(s.Node), func(i int) bool {
		return r.p.Nodes[i].When == walk.WhenFailure && r.p.Nodes[i].WhenCond == nil
	}):
		d.Handled, follow = "when", false
	case late || !rejection(def, s.Failure) && r.continues(s.Node):
		d.Handled, follow, n.raced = "race", false, true
	default:
		n.unhandled, follow = true, false
		r.refused = r.refused || rejection(def, s.Failure)
		r.fail(at(s.Failure, def.ID), def.ID, false)
	}
	if !late && (d.Handled != "edge" || def.Out[edge].To == walk.End) {
		r.last = last
	}
	if follow {
		edge = r.choose(def, last, &d)
	}
	if edge >= 0 {
		if !(len(def.Out) == 1 && def.Out[0].Cond.Fallback()) { // the zero decision records that
			d.Edge, d.To = def.Out[edge].Position+1, target(r.p, def.Out[edge].To)
		}
		if to := def.Out[edge].To; to != walk.End {
			r.take(to, last, &d)
		}
	}
	r.bury(&d)
	r.settledNeed(s.Node, &d)
	r.finish(&d)
	r.log = append(r.log, event{Settlement: settled})
	return d, nil
}

// settleItem records the outcome of an item. over reports that the iteration has ended with it.
func (r *Reference) settleItem(v *visit, def *walk.ProgramNode, s walk.Settlement) (_ walk.Settlement, over bool) {
	v.items[s.Item] = item{started: true, status: s.Status, output: s.Output, failure: s.Failure}
	var first *item // failed, in item order
	cancelled, running, open := false, false, false
	outputs := make([]any, len(v.items))
	for i := range v.items {
		it := &v.items[i]
		switch it.status {
		case "":
			running, open = running || it.started, true
		case walk.Completed:
			outputs[i] = it.output
		case walk.Failed:
			if continued(def, it.failure) {
				instead := failureValue(it.failure, "").(map[string]any)
				outputs[i] = map[string]any{"error": instead["error"], "code": instead["code"]}
			}
			if (first == nil || rejection(def, it.failure) && !rejection(def, first.failure)) && !continued(def, it.failure) {
				first = it
			}
		case walk.Cancelled:
			cancelled = true
		}
	}
	visit := walk.Settlement{VisitKey: s.VisitKey, Item: -1}
	switch {
	case running:
		return s, false
	case first != nil:
		visit.Status, visit.Failure = walk.Failed, first.failure
	case cancelled:
		visit.Status = walk.Cancelled
	case open:
		return s, false
	default:
		visit.Status, visit.Output = walk.Completed, outputs
	}
	return visit, true
}

func failureValue(f *walk.Failure, node string) any {
	if f == nil {
		return map[string]any{"error": "failed", "code": walk.CodeFailed, "node": node}
	}
	return map[string]any{"error": f.Message, "code": f.Code, "node": node}
}

// choose returns the first edge in file order whose condition holds and that is not a fallback, or
// else the first fallback, or else none.
func (r *Reference) choose(def *walk.ProgramNode, last any, d *walk.Decision) int {
	fallback, others := -1, 0
	for i, e := range def.Out {
		if e.Cond.OnFailure() {
			continue // nothing failed
		}
		others++
		if e.Cond.Fallback() {
			if fallback < 0 {
				fallback = i
			}
			continue
		}
		holds, ev, f := e.Cond.Evaluate(r.env(last))
		ev.To = target(r.p, e.To)
		d.Evaluated = append(d.Evaluated, ev)
		if f != nil {
			d.Failure = at(f, def.ID)
			r.fail(f, def.ID, true)
			return -1
		}
		if holds {
			return i
		}
	}
	if fallback >= 0 || others == 0 {
		return fallback
	}
	d.Ended = "no edge matched"
	if r.p.Strict && !def.EndsOK {
		d.Failure = (&walk.Failure{Code: walk.CodeNoEdge, Node: def.ID}).WithMessage("no edge out of node %q matched", def.ID)
		r.fail(d.Failure, def.ID, true)
	}
	return -1
}

// take moves the token over an edge.
func (r *Reference) take(to int, last any, d *walk.Decision) {
	n, def := &r.nodes[to], &r.p.Nodes[to]
	switch {
	case n.began-n.before >= def.MaxVisits:
		d.Failure = (&walk.Failure{Code: walk.CodeMaxVisits, Node: def.ID}).WithMessage("cycle detected at node %q", def.ID)
		if def.MaxVisits > 1 {
			d.Failure.WithMessage("node %q exceeded max_visits %d", def.ID, def.MaxVisits)
		}
		r.fail(d.Failure, def.ID, true)
	case r.stopping():
		n.held = &visit{n: n.began + 1, last: last}
	default:
		r.begin(to, last)
	}
}

// bury settles as skipped every node that was never visited and that no live iteration can reach
// over edges, and then the nodes that need one of them.
func (r *Reference) bury(d *walk.Decision) {
	reached := r.reach()
	var dead []int
	for i := range r.nodes {
		n := &r.nodes[i]
		if len(r.p.Nodes[i].Needs) > 0 || slices.Contains(r.p.Roots, i) || n.began > n.before || n.settled || reached[i] ||
			r.p.Nodes[i].Finally && r.end == nil {
			continue
		}
		n.settled, n.status = true, walk.Skipped
		if len(r.needing(i)) > 0 {
			d.Settled = append(d.Settled, walk.Consequence{Node: r.p.Nodes[i].ID, Status: "skipped"})
			dead = append(dead, i)
		}
	}
	for _, i := range dead {
		r.settledNeed(i, d)
	}
}

// reach marks everything that a live iteration is at or can still reach: iterations that are open
// or held, and nodes with needs that are not decided.
func (r *Reference) reach() []bool {
	reached := make([]bool, len(r.nodes))
	var from func(i int)
	from = func(i int) {
		if reached[i] {
			return
		}
		reached[i] = true
		for _, e := range r.p.Nodes[i].Out {
			if e.To != walk.End {
				from(e.To)
			}
		}
	}
	for i := range r.nodes {
		n := &r.nodes[i]
		decides := len(r.p.Nodes[i].Needs) > 0 || slices.Contains(r.p.Roots, i) && r.p.Nodes[i].WhenCond != nil
		decides = decides || slices.Contains(r.p.Finally, i) && !n.settled
		if n.open != nil || n.held != nil || decides && !n.chosen {
			from(i)
		}
	}
	return reached
}

// settledNeed decides every node whose needs have now all settled.
func (r *Reference) settledNeed(i int, d *walk.Decision) {
	for at, j := range r.needing(i) {
		r.nodes[i].followed = max(r.nodes[i].followed, at+1)
		r.activate(j, d)
	}
}

func (r *Reference) activate(j int, d *walk.Decision) {
	n, def := &r.nodes[j], &r.p.Nodes[j]
	if n.chosen || r.overdue {
		return
	}
	won := def.When == walk.WhenFirst && r.first(j) >= 0
	for _, need := range def.Needs {
		if slices.Index(r.needing(need), j) >= r.nodes[need].followed && !won {
			return
		}
	}
	runs := r.joins(def) && !r.lost(j)
	var ev *walk.Evaluation
	if runs && def.WhenCond != nil {
		runs, ev = r.holds(def, d)
	}
	if runs && r.stopping() && def.When != walk.WhenFailure && def.When != walk.WhenAlways {
		return
	}
	n.chosen = true
	if f := r.lastFailure(j); !runs && f != nil {
		if d.Failure == nil {
			d.Failure = f
		}
		r.fail(f, f.Node, true)
	}
	switch {
	case !runs:
		n.handed = r.p.Sequential && !def.Finally && slices.ContainsFunc(def.Needs, func(need int) bool { return r.nodes[need].handed })
		d.Settled = append(d.Settled, walk.Consequence{Node: def.ID, Status: "skipped", Evaluated: ev})
		n.settled, n.status = true, walk.Skipped
		r.bury(d)
		r.settledNeed(j, d)
	default:
		if ev != nil {
			d.Settled = append(d.Settled, walk.Consequence{Node: def.ID, Visit: n.began + 1, Status: "ready", Evaluated: ev})
		}
		r.begin(j, r.joined(def))
	}
}

// joins decides whether the outcomes of the needs satisfy the rule. success: all needs completed, or, in a
// plan of steps in order, the previous step has not failed. any_success: a need completed. none_failed: no
// need failed or was cancelled. failure: a need failed. always: in any case.
func (r *Reference) joins(def *walk.ProgramNode) bool {
	completed, failed, cancelled := 0, 0, 0
	for _, j := range def.Needs {
		switch status := r.nodes[j].status; {
		case status == walk.Completed || r.nodes[j].continued:
			completed++
		case status == walk.Failed:
			failed++
		case status == walk.Cancelled:
			cancelled++
		}
	}
	switch def.When {
	case walk.WhenAlways:
		return true
	case walk.WhenFailure:
		return failed > 0
	case walk.WhenAnySuccess, walk.WhenFirst:
		return completed > 0
	case walk.WhenNoneFailed:
		return failed+cancelled == 0
	}
	handed := slices.ContainsFunc(def.Needs, func(j int) bool { return r.nodes[j].handed })
	return failed+cancelled == 0 && (r.p.Sequential && !def.Finally && !handed || completed == len(def.Needs))
}

// holds evaluates the condition of a node whose needs satisfy its rule.
func (r *Reference) holds(def *walk.ProgramNode, d *walk.Decision) (bool, *walk.Evaluation) {
	holds, ev, f := def.WhenCond.Evaluate(r.env(r.joined(def)))
	if f != nil {
		if d.Failure == nil {
			d.Failure = at(f, def.ID)
		}
		r.fail(f, def.ID, true)
	}
	return holds && f == nil, &ev
}

// joined is the output of the only need, or an object of the outputs of all; without needs, the input. A need that failed is
// represented by its error, and a skipped one by null. A finally step without needs gets the outcome.
func (r *Reference) joined(def *walk.ProgramNode) any {
	switch {
	case len(def.Needs) == 0 && def.Finally:
		v := map[string]any{"status": string(r.end.Status), "output": r.end.Output}
		if f := r.end.Failure; f != nil {
			v["error"], v["code"], v["node"] = f.Message, f.Code, f.Node
		}
		return v
	case len(def.Needs) == 0:
		return r.input
	}
	if def.When == walk.WhenFirst {
		return r.nodes[r.first(def.Index)].output
	}
	m := map[string]any{}
	for _, j := range def.Needs {
		n, id := &r.nodes[j], r.p.Nodes[j].ID
		m[id] = n.output
		if n.status == walk.Failed && !n.continued {
			m[id] = failureValue(n.failure, id)
		}
		if len(def.Needs) == 1 {
			return m[id]
		}
	}
	return m
}
