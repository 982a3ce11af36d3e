package planner

import (
	"maps"

	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// routerState checks the literal members of the state that a step of a router graph receives.
// Members with references are checked when the step runs.
func (k *compiler) routerState(n *walk.ProgramNode, s *spec) {
	m, ok := s.Input.(map[string]any)
	if !ok || !IsRouterState(m) || n.Input == nil {
		return
	}
	literal := maps.Clone(m)
	for _, ref := range n.Input.References() {
		if delete(literal, ref.At[0]); ref.At[0] == "messages" {
			literal["messages"] = []any{}
		}
	}
	if problem := CheckRouterState(literal); !problem.IsZero() {
		k.r.Error(s.field("input"), s.ID, "node.state", message.New("pass messages: a list of {role, content}"),
			"invalid state for a step of type %s: %s", n.Type, problem)
	}
}
