package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/agent"
	"github.com/kairosd/kairosd/planner"
)

func TestContradictionsAreRefused(t *testing.T) {
	t.Parallel()
	graph, err := planner.ParseYAML([]byte(plan))
	if err != nil {
		t.Fatal(err)
	}
	for name, options := range map[string][]agent.Option{
		"handlers without a plan": {agent.WithPlannerHandlers(map[string]planner.Handler{})},
		"two plans":               {agent.WithPlanner(graph), agent.WithPlanner(graph)},
		"no plan":                 {agent.WithPlanner(nil)},
		"a tool twice":            {agent.WithTools(upper{}, upper{})},
		"a built-in name":         {agent.WithTools(named("set"))},
		"no name":                 {agent.WithTools(named(""))},
		"no iterations":           {agent.WithMaxIterations(0)},
	} {
		if _, err := agent.New("a", echo{}, options...); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := agent.New("", echo{}); err == nil {
		t.Error("no name: accepted")
	}
}

// named is a tool of some name that panics.
type named string

func (n named) Spec() agent.ToolSpec                              { return agent.ToolSpec{Name: string(n)} }
func (n named) Call(context.Context, agent.ToolCall) (any, error) { panic("boom") }

// restless asks for a tool for ever.
type restless struct{ heard []string }

func (r *restless) Complete(_ context.Context, q agent.Request) (agent.Response, error) {
	r.heard = append(r.heard, q.Messages[len(q.Messages)-1].Text)
	return agent.Response{Calls: []agent.Call{{ID: "1", Tool: "boom", Arguments: "{}"}}}, nil
}

func TestTheLoopIsBoundedAndToolsFailAlone(t *testing.T) {
	t.Parallel()
	p := &restless{}
	ag, err := agent.New("a", p, agent.WithTools(named("boom")), agent.WithMaxIterations(3))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = ag.Run(t.Context(), "go"); err == nil || !strings.Contains(err.Error(), "after 3 model calls") {
		t.Errorf("got %v", err)
	}
	if len(p.heard) != 3 || p.heard[1] != "Error: tool boom panicked: boom" {
		t.Errorf("the model heard %q", p.heard)
	}
}

// notebook is a memory.
type notebook struct{ stored []string }

func (n *notebook) Retrieve(context.Context, string) (string, error) { return "likes tea", nil }
func (n *notebook) Store(_ context.Context, in, out string) error {
	n.stored = append(n.stored, in+" → "+out)
	return nil
}

func TestMemoryReachesThePlanAndKeepsTheAnswer(t *testing.T) {
	t.Parallel()
	graph, err := planner.ParseYAML([]byte("nodes:\n  a: {type: set, input: \"${input} ${memory}\"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	n := &notebook{}
	ag, err := agent.New("a", nil, agent.WithPlanner(graph), agent.WithMemory(n))
	if err != nil {
		t.Fatal(err)
	}
	out, err := ag.Run(t.Context(), "ana")
	if err != nil || out != "ana likes tea" || len(n.stored) != 1 || n.stored[0] != "ana → ana likes tea" {
		t.Errorf("%q %v %q", out, err, n.stored)
	}
}

func TestAModelIsNeededWhereOneIsCalled(t *testing.T) {
	t.Parallel()
	ag, err := agent.New("a", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ag.Run(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "no provider") {
		t.Errorf("got %v", err)
	}
	graph, err := planner.ParseYAML([]byte("nodes:\n  a: {type: tool, tool: absent, input: {}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	ag, err = agent.New("a", nil, agent.WithPlanner(graph))
	if err != nil {
		t.Fatal(err)
	}
	_, err = ag.Run(t.Context(), "x")
	if f, ok := errors.AsType[*planner.Failure](err); !ok || f.Code != planner.CodeUnknownTool {
		t.Errorf("got %v", err)
	}
}
