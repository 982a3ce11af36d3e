package preview

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// repeats lists the completed steps with side effects of the forked run that would be repeated, and
// the results that replace them.
func (b *Branch) repeats(l *lists) []domain.PreviewRepeat {
	v := b.view
	ahead := map[string]bool{}
	for _, list := range [][]domain.PreviewStep{l.again, l.fresh, l.given} {
		for _, s := range list {
			ahead[s.Node] = true
		}
	}
	kept := b.keptItems()
	for _, d := range b.State.Settled {
		kept[runstate.StepKey{VisitKey: walk.VisitKey{Node: d.Node, Visit: d.Visit}, Item: runstate.NoItem}] = true
	}
	how := map[string]string{givenRecorded: "recorded", givenStub: "stub"}
	var out []domain.PreviewRepeat
	listed := map[walk.VisitKey]int{}
	for _, c := range v.recorded() {
		i, ok := b.Program.Index[c.Node]
		k := runstate.StepKey{VisitKey: walk.VisitKey{Node: i, Visit: c.Visit}, Item: c.Item}
		if !ok || !ahead[c.Node] || c.Status != domain.NodeCompleted || !touches(walk.Effect(c.Effect)) || kept[k] ||
			kept[runstate.StepKey{VisitKey: k.VisitKey, Item: runstate.NoItem}] {
			continue
		}
		given := how[b.State.GivenReason(b.here(k))]
		at, known := listed[k.VisitKey]
		if !known {
			at = len(out)
			listed[k.VisitKey] = at
			out = append(out, domain.PreviewRepeat{Node: c.Node, Visit: c.Visit, Type: b.typeOf(c.Node), Effect: c.Effect,
				Given: given, Unrecorded: b.Program.Nodes[i].Foreach != nil})
		}
		if k.Item == runstate.NoItem {
			continue
		}
		r := &out[at]
		r.Unrecorded = false
		r.Items = append(r.Items, domain.RepeatItem{Item: k.Item, Given: given})
		if r.Given != given {
			r.Given = ""
		}
	}
	return b.doubtful(out, listed, ahead, kept)
}

// doubtful adds the steps with side effects whose outcome is unknown because the rows of their
// results are damaged.
func (b *Branch) doubtful(out []domain.PreviewRepeat, listed map[walk.VisitKey]int, ahead map[string]bool,
	kept map[runstate.StepKey]bool) []domain.PreviewRepeat {
	if b.view.Damage == nil {
		return out
	}
	how := map[string]string{givenRecorded: "recorded", givenStub: "stub"}
	for _, s := range b.view.Damage.Steps {
		i, ok := b.Program.Index[s.Node]
		if !ok || !s.Doubtful() || !ahead[s.Node] || !touches(walk.Effect(s.Effect)) {
			continue
		}
		k := runstate.StepKey{VisitKey: walk.VisitKey{Node: i, Visit: s.Visit}, Item: s.Item}
		if kept[k] || kept[runstate.StepKey{VisitKey: k.VisitKey, Item: runstate.NoItem}] {
			continue
		}
		given := how[b.State.GivenReason(b.here(k))]
		at, known := listed[k.VisitKey]
		if !known {
			at = len(out)
			listed[k.VisitKey] = at
			out = append(out, domain.PreviewRepeat{Node: s.Node, Visit: s.Visit, Type: b.typeOf(s.Node), Effect: s.Effect,
				Given: given, Unrecorded: true})
		}
		r := &out[at]
		r.Doubtful = true
		if s.Item != runstate.NoItem {
			r.Items = append(r.Items, domain.RepeatItem{Item: s.Item, Given: given})
		}
		if r.Given != given {
			r.Given = ""
		}
	}
	return out
}
