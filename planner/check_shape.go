package planner

import (
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// shapes warns of values whose shape depends on the number of steps: the input of a step with several
// needs, and the output of a run with several last steps.
func (k analyzer) shapes() {
	if k.d.Graph == nil || k.r.errors > 0 {
		return // step plans have parameters, and one result for people
	}
	var last []int
	for i := range k.p.Nodes {
		n, s := &k.p.Nodes[i], &k.specs[i]
		if len(n.Needs) > 1 && n.When != walk.WhenFirst && n.Input == nil && s.Input == nil && n.Foreach == nil && usesInput(n) {
			k.r.Warn(s.field("needs"), s.ID, "input.object",
				message.New("write input:, for example input: ${output.%s}", k.name(n.Needs[0])),
				"step %s has no input, so it gets an object with the outputs of the %d steps that it needs", jsonvalue.Quote(s.ID),
				len(n.Needs))
		}
		if len(n.Out) == 0 && len(n.Dependents) == 0 && !n.Finally && k.p.Owner[i] >= 0 {
			last = append(last, i)
		}
	}
	if len(last) > 1 && k.p.UsesNeeds && k.d.Graph.Result == nil {
		k.r.Warn(k.linksTree(), "", "result.object", message.New("write result:, for example result: ${output.%s}", k.name(last[0])),
			"the output of a run is an object with the outputs of %d steps: %s", len(last), k.list(last))
	}
}

// usesInput reports whether the type of a step does something with its input.
func usesInput(n *walk.ProgramNode) bool {
	switch n.Type {
	case walk.TypeNoop, walk.TypeDecision, walk.TypeFail, walk.TypeWait, walk.TypeApproval:
		return false
	}
	return true
}
