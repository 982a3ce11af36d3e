package agent_test

import (
	"testing"

	"github.com/kairosd/kairosd/agent"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// Handoffs are rejected in this order: unknown, self, system, loop,
// capability. Each row breaks its rule and all that come later.
func TestHandoffRules(t *testing.T) {
	t.Parallel()
	agents := map[string]agent.HandoffTarget{"supervisor": {System: true}, "orchestrator": {System: true}, "writer": {Capabilities: []string{"Prose"}}, "finder": {}}
	for _, tc := range []struct {
		name, from string
		h          agent.Handoff
		reached    []string
		want       string
	}{
		{"accepted", "finder", agent.Handoff{Target: "writer", Capability: "prose"}, []string{"writer"}, ""},
		{"unknown", "nobody", agent.Handoff{Target: "nobody", Capability: "x"}, []string{"nobody", "nobody"}, agent.CodeHandoffUnknown},
		{"self", "orchestrator", agent.Handoff{Target: "orchestrator", Capability: "x"}, []string{"orchestrator", "orchestrator"}, agent.CodeHandoffSelf},
		{"system", "finder", agent.Handoff{Target: "orchestrator", Capability: "x"}, []string{"orchestrator", "orchestrator"}, agent.CodeHandoffSystem},
		{"system from supervisor", "supervisor", agent.Handoff{Target: "orchestrator"}, nil, ""},
		{"loop", "finder", agent.Handoff{Target: "writer", Capability: "x"}, []string{"writer", "a", "writer", "b", "c"}, agent.CodeHandoffLoop},
		{"twice, but long ago", "finder", agent.Handoff{Target: "writer"}, []string{"writer", "a", "writer", "b", "c", "d"}, ""},
		{"capability", "finder", agent.Handoff{Target: "writer", Capability: "sums"}, nil, agent.CodeHandoffCapability},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := tc.h.Check(tc.from, agents, tc.reached)
			code := ""
			if err != nil {
				code = walk.AsFailure(err).Code
			}
			if code != tc.want {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

func TestHandoffArguments(t *testing.T) {
	t.Parallel()
	good, err := jsonvalue.Decode([]byte(`{"targetAgentId":"writer","reason":"clarification","explanation":"say it","payload":[1],"returnControl":true}`))
	if err != nil {
		t.Fatal(err)
	}
	h, err := agent.ParseHandoff(good)
	if err != nil || h.Target != "writer" || !h.ReturnControl || h.Task() != "say it\n\nData: [1]" {
		t.Errorf("%+v %v", h, err)
	}
	for _, bad := range []string{`{}`, `[]`, `{"targetAgentId":"","reason":"clarification","explanation":"x"}`, `{"targetAgentId":"a","reason":"boredom","explanation":"x"}`} {
		v, err := jsonvalue.Decode([]byte(bad))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := agent.ParseHandoff(v); walk.AsFailure(err) == nil || walk.AsFailure(err).Code != walk.CodeInvalidInput {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
