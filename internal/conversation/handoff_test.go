package conversation_test

import (
	"testing"

	"github.com/kairosd/kairosd/internal/conversation"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// Handoffs are rejected in this order: unknown, self, system, loop, capability. Each row violates
// its rule and all later ones.
func TestHandoffRules(t *testing.T) {
	t.Parallel()
	agents := map[string]conversation.HandoffTarget{
		"supervisor":   {System: true},
		"orchestrator": {System: true},
		"writer":       {Capabilities: []string{"Prose"}},
		"finder":       {},
	}
	for _, tc := range []struct {
		name, from string
		h          conversation.Handoff
		reached    []string
		want       string
	}{
		{"accepted", "finder", conversation.Handoff{Target: "writer", Capability: "prose"}, []string{"writer"}, ""},
		{"unknown", "nobody", conversation.Handoff{Target: "nobody", Capability: "x"}, []string{"nobody", "nobody"},
			conversation.CodeHandoffUnknown},
		{"self", "orchestrator", conversation.Handoff{Target: "orchestrator", Capability: "x"},
			[]string{"orchestrator", "orchestrator"}, conversation.CodeHandoffSelf},
		{"system", "finder", conversation.Handoff{Target: "orchestrator", Capability: "x"}, []string{"orchestrator", "orchestrator"},
			conversation.CodeHandoffSystem},
		{"system from supervisor", "supervisor", conversation.Handoff{Target: "orchestrator"}, nil, ""},
		{"loop", "finder", conversation.Handoff{Target: "writer", Capability: "x"}, []string{"writer", "a", "writer", "b", "c"},
			conversation.CodeHandoffLoop},
		{"twice, but long ago", "finder", conversation.Handoff{Target: "writer"}, []string{"writer", "a", "writer", "b", "c", "d"}, ""},
		{"capability", "finder", conversation.Handoff{Target: "writer", Capability: "sums"}, nil, conversation.CodeHandoffCapability},
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
	good, err := jsonvalue.Decode(
		[]byte(`{"targetAgentId":"writer","reason":"clarification","explanation":"say it","payload":[1],"returnControl":true}`),
	)
	if err != nil {
		t.Fatal(err)
	}
	h, err := conversation.ParseHandoff(good)
	if err != nil || h.Target != "writer" || !h.ReturnControl || h.Task() != "say it\n\nData: [1]" {
		t.Errorf("%+v %v", h, err)
	}
	for _, bad := range []string{`{}`, `[]`, `{"targetAgentId":"","reason":"clarification","explanation":"x"}`,
		`{"targetAgentId":"a","reason":"boredom","explanation":"x"}`} {
		v, err := jsonvalue.Decode([]byte(bad))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conversation.ParseHandoff(v); walk.AsFailure(err) == nil || walk.AsFailure(err).Code != walk.CodeInvalidInput {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
