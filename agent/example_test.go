package agent_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/kairosd/kairosd/agent"
	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// echo is a provider that returns the last message, or first requests a tool if one is offered.
type echo struct{}

func (echo) Complete(_ context.Context, r llm.Request) (llm.Response, error) {
	last := r.Messages[len(r.Messages)-1]
	if len(r.Tools) > 0 && last.Role == llm.RoleUser {
		return llm.Response{
			Calls: []llm.Call{
				{ID: "1", Tool: "upper", Arguments: fmt.Sprintf(`{"text": %q}`, last.Text)},
				{ID: "2", Tool: "none", Arguments: "{}"},
			},
		}, nil
	}
	var received []string
	for _, m := range r.Messages {
		if m.Role == last.Role {
			received = append(received, m.Text)
		}
	}
	return llm.Response{Text: "received " + strings.Join(received, " and ")}, nil
}

// upper is a tool.
type upper struct{}

func (upper) Spec() llm.ToolSpec {
	return llm.ToolSpec{Name: "upper", Effect: walk.EffectPure, Schema: map[string]any{"type": "object", "required": []any{"text"},
		"properties": map[string]any{"text": map[string]any{"type": "string"}}}}
}

func (upper) Call(_ context.Context, c llm.ToolCall) (any, error) {
	return strings.ToUpper(c.Args.(map[string]any)["text"].(string)), nil
}

const plan = `
id: hello-graph
start: step-1
nodes:
  step-1: {type: log, input: "hola ${input}"}
  step-2: {type: upper, input: {text: "${last}"}}
  step-3: {type: llm}
edges:
  - {from: step-1, to: step-2}
  - {from: step-2, to: step-3}
`

// An agent walks a plan.
func ExampleWithPlanner() {
	provider := echo{}
	planBytes := []byte(plan)

	graph, _ := planner.ParseYAML(planBytes)
	ag, _ := agent.New("my-agent", provider, agent.WithPlanner(graph), agent.WithTools(upper{}))
	out, err := ag.Run(context.Background(), "input inicial")
	fmt.Println(out, err)
	// Output: received HOLA INPUT INICIAL <nil>
}

// An agent without a plan loops over model calls and tool calls until the model returns a text. If
// a tool does not exist, the model receives an error, and the run continues.
func ExampleAgent_Run() {
	ag, err := agent.New("looper", echo{}, agent.WithTools(upper{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := ag.Run(context.Background(), "hi")
	fmt.Println(out, err)
	// Output: received HI and Error: Tool "none" not found <nil>
}

// Handlers by node ID take precedence over handlers by type. The audit hook is called for every
// node.
func ExampleWithPlanner_handlers() {
	graph, _ := planner.ParseYAML([]byte(plan))
	configure := func(exec *planner.Executor) {
		exec.Handlers["log"] = func(_ context.Context, n planner.Node, _ *planner.State) (any, error) { return n.Input, nil }
		exec.HandlersByID["step-3"] = func(_ context.Context, _ planner.Node, s *planner.State) (any, error) {
			return fmt.Sprint(s.Last, "!"), nil
		}
		exec.AuditHook = func(_ context.Context, e planner.AuditEvent) {
			if e.Status == planner.AuditCompleted {
				fmt.Println(e.NodeID)
			}
		}
	}
	ag, err := agent.New("my-agent", echo{}, agent.WithPlanner(graph, configure), agent.WithTools(upper{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := ag.Run(context.Background(), "ana")
	fmt.Println(out, err)
	// Output:
	// step-1
	// step-2
	// step-3
	// HOLA ANA! <nil>
}
