package plannertest

import (
	"slices"

	"github.com/kairosd/kairosd/planner/walk"
)

// Reset is the specification of what a resume resets: the run continues as if everything that
// failed unhandled or was cancelled had not settled yet, without the consequences. Finally steps are such
// consequences. ok is false if a decision on kept nodes, or the plan's result, fails the run again.
func (r *Reference) Reset() (again *Reference, ok bool) {
	again = New(r.p, r.facts)
	for i := range r.nodes {
		if r.p.Nodes[i].Finally { // each end of the run has iterations of its own
			again.nodes[i].began, again.nodes[i].before = r.nodes[i].began, r.nodes[i].began
		}
	}
	for i, e := range r.log {
		if r.p.Nodes[e.Node].Finally || r.undone(e.Settlement) || !slices.Contains(again.Open(), e.VisitKey) {
			continue
		}
		if !e.start {
			if _, err := again.Settle(e.Settlement); err != nil {
				panic(err) // it settled before
			}
			continue
		}
		kept := slices.ContainsFunc(r.log[i:], func(l event) bool {
			return !l.start && l.VisitKey == e.VisitKey && l.Item == e.Item && !r.undone(l.Settlement)
		})
		if _, f := again.Items(e.VisitKey); kept && f == nil {
			again.start(e.VisitKey, e.Item)
		}
	}
	out := again.Outcome() // the plan's result fails again
	if again.end != nil {
		out = *again.end
	}
	return again, !again.decided && (out.Failure == nil || out.Failure.Code != walk.CodeResult)
}

// undone reports whether a settlement is reset: it is of an iteration that failed unhandled or was
// cancelled. In a foreach, only the items that failed or were cancelled are reset.
func (r *Reference) undone(s walk.Settlement) bool {
	n, def := &r.nodes[s.Node], &r.p.Nodes[s.Node]
	if !n.unhandled || n.open != nil || n.began != s.Visit {
		return false
	}
	if def.Foreach != nil && s.Item >= 0 {
		return s.Status == walk.Cancelled || s.Status == walk.Failed && !continued(def, s.Failure)
	}
	return true
}
