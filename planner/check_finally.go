package planner

import (
	"slices"

	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// checkFinally finds the finally steps that start first, and reports links between them and other steps.
func checkFinally(k *compiler) {
	report := func(at *source.Tree, node, format string, args ...any) {
		k.broken = true
		k.r.Error(at, node, "finally.link", message.New("finally steps run when all others have ended, and may need each other"),
			format, args...)
	}
	for i := range k.p.Nodes {
		n, s := &k.p.Nodes[i], &k.specs[i]
		for _, j := range n.Needs {
			if n.Finally != k.p.Nodes[j].Finally {
				report(s.field("needs"), s.ID, "step %s cannot need step %s", jsonvalue.Quote(s.ID), jsonvalue.Quote(k.name(j)))
			}
		}
		for _, e := range n.Out {
			switch at := s.field("on_error"); {
			case !e.Rule && (n.Finally || e.To != walk.End && k.p.Nodes[e.To].Finally):
				report(k.d.tree.Get("edges").Items[e.Position], s.ID, "an edge cannot lead from or to a finally step")
			case e.Rule && e.To != walk.End && n.Finally != k.p.Nodes[e.To].Finally:
				report(at, s.ID, "a rule of step %s cannot lead to step %s", jsonvalue.Quote(s.ID), jsonvalue.Quote(k.name(e.To)))
			}
		}
		if !n.Finally {
			continue
		}
		if n.Incoming == 0 && len(s.Needs) == 0 {
			k.p.Finally = append(k.p.Finally, i)
		}
		failing := func(on walk.OnError) bool { return on == walk.OnErrorFail || on == walk.OnErrorReplan }
		if failing(n.OnError) || slices.ContainsFunc(n.Rules, func(r walk.ErrorRule) bool { return failing(r.OnError) }) {
			k.r.Error(s.field("on_error"), s.ID, "finally.on_error", message.New("write continue or skip"),
				"the failure of a finally step cannot fail the run")
		}
	}
	if k.d.Graph == nil || k.d.Graph.Start == "" {
		return
	}
	if j, ok := k.names[k.d.Graph.Start]; ok && j >= 0 && k.p.Nodes[j].Finally {
		report(k.d.tree.Get("start"), "", "start names the finally step %s", jsonvalue.Quote(k.name(j)))
	}
}
