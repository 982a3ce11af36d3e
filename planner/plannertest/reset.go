package plannertest

import (
	"slices"

	"github.com/kairosd/kairosd/planner/walk"
)

// Reset is the specification of what a resume resets: the run continues as if everything that
// failed unhandled or was cancelled had not settled yet, without the consequences. Finally steps are such
// consequences. ok is false if a decision on kept nodes, or the plan's result, fails the run again.
func (r *Reference) Reset() (again *Reference, ok bool) {
	winners := map[int]int{} // of races whose winner runs again: the step that wins instead, or -1
	for changed := true; changed; {
		again, changed = r.replay(winners), false
		for i := range r.p.Nodes {
			if r.p.Nodes[i].When != walk.WhenFirst || r.first(i) == again.first(i) {
				continue
			}
			if before, ok := winners[i]; !ok || before != again.first(i) {
				winners[i], changed = again.first(i), true
			}
		}
	}
	for i := range again.nodes { // a step that did not begin before its race ended does not begin now
		if n := &again.nodes[i]; n.open != nil && again.lost(i) && r.nodes[i].began == 0 {
			*n = node{settled: true, followed: len(r.nodes), chosen: true, status: walk.Skipped}
		}
	}
	again.finish(&walk.Decision{})
	return again, !again.decided && (!again.failsInResult() || !r.failsInResult())
}

// failsInResult reports whether the run ended with a failure in the plan's result.
func (r *Reference) failsInResult() bool {
	out := r.Outcome()
	if r.end != nil {
		out = *r.end
	}
	return out.Failure != nil && out.Failure.Code == walk.CodeResult
}

// replay settles again what is not undone.
func (r *Reference) replay(winners map[int]int) *Reference {
	again := New(r.p, r.facts)
	again.again = r.nodes
	for i := range r.nodes {
		if r.p.Nodes[i].Finally { // each end of the run has iterations of its own
			again.nodes[i].began, again.nodes[i].before = r.nodes[i].began, r.nodes[i].began
		}
	}
	for i, e := range r.log {
		if r.p.Nodes[e.Node].Finally || r.undone(e.Settlement, winners) || !slices.Contains(again.Open(), e.VisitKey) {
			continue
		}
		if !e.start {
			if _, err := again.Settle(e.Settlement); err != nil {
				panic(err) // it settled before
			}
			continue
		}
		kept := slices.ContainsFunc(r.log[i:], func(l event) bool {
			return !l.start && l.VisitKey == e.VisitKey && l.Item == e.Item && !r.undone(l.Settlement, winners)
		})
		if _, f := again.Items(e.VisitKey); kept && f == nil {
			again.start(e.VisitKey, e.Item)
		}
	}
	again.again = nil
	return again
}

// undone reports whether a settlement is reset: it is of an iteration that failed unhandled or was
// cancelled. In a foreach, only the items that failed or were cancelled are reset. A race runs again if its winner
// does, and its other steps do if none of them has completed.
func (r *Reference) undone(s walk.Settlement, winners map[int]int) bool {
	n, def, race := &r.nodes[s.Node], &r.p.Nodes[s.Node], r.race(s.Node)
	if _, changed := winners[s.Node]; changed {
		return true
	}
	if winner, changed := winners[race]; r.lost(s.Node) && (!changed || winner >= 0) && !(s.Status == walk.Failed && n.unhandled) {
		return false
	}
	if !n.unhandled && !n.raced || n.open != nil || n.began != s.Visit {
		return false
	}
	if def.Foreach != nil && s.Item >= 0 {
		return s.Status == walk.Cancelled || s.Status == walk.Failed && !continued(def, s.Failure)
	}
	return true
}
