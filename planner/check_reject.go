package planner

import (
	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// rejections reports edges and conditions that only a rejection could take. A rejection fails the
// step, unless the step has on_reject: continue.
func (k analyzer) rejections() {
	if k.d.Graph != nil {
		list := k.d.tree.Get("edges")
		for i := range k.p.Nodes {
			n := &k.p.Nodes[i]
			if n.Type != walk.TypeApproval || n.OnReject == walk.OnRejectContinue {
				continue
			}
			decided := false // some edge is taken after any approval
			for _, e := range n.Out {
				decided = decided || e.Cond.AfterApproval(n, true) == walk.TruthYes
			}
			for _, e := range n.Out {
				if e.Rule {
					continue
				}
				t := list.Items[e.Position]
				if v := t.Get("condition"); v != nil {
					t = v
				}
				named := t.Kind == source.String && e.Cond.Fallback() && t.Text != "" && !choosing(k.specs[i].Input)
				switch {
				case named || e.Cond.Fallback() && decided:
					k.neverRejected(t, n.ID, "a rejection does not take this edge, because it fails step %s", jsonvalue.Quote(n.ID))
				case e.Cond.AfterApproval(n, true) == walk.TruthNo:
					k.neverRejected(t, n.ID, "this condition never holds, because a rejection fails step %s", jsonvalue.Quote(n.ID))
				}
			}
		}
	}
	for i := range k.p.Nodes {
		n, s := &k.p.Nodes[i], &k.specs[i]
		if n.WhenCond == nil {
			continue
		}
		for _, j := range n.Needs {
			asks := &k.p.Nodes[j]
			if asks.Type == walk.TypeApproval && asks.OnReject != walk.OnRejectContinue &&
				n.WhenCond.AfterApproval(asks, len(n.Needs) == 1) == walk.TruthNo {
				k.neverRejected(
					s.field("when"),
					s.ID,
					"this condition never holds, because a rejection fails step %s",
					jsonvalue.Quote(asks.ID),
				)
			}
		}
	}
}

// choosing reports whether an approval declares several answers that complete it. A default edge is
// then taken for answers without a condition of their own.
func choosing(input any) bool {
	list, err := Answers(input)
	ways := 0
	for _, a := range list {
		if a.Kind != "reject" {
			ways++
		}
	}
	return err == nil && ways > 1
}

func (k analyzer) neverRejected(at *source.Tree, node, format string, args ...any) {
	k.r.Error(
		at,
		node,
		"approval.rejection",
		message.New("write condition: failed for the edge of a rejection, or set on_reject: continue on the approval"),
		format,
		args...)
}
