package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kairosd/kairosd/agent"
	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/conversation"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

func TestContradictionsAreRefused(t *testing.T) {
	t.Parallel()
	graph, err := planner.ParseYAML([]byte(plan))
	if err != nil {
		t.Fatal(err)
	}
	for name, options := range map[string][]agent.Option{
		"two plans":       {agent.WithPlanner(graph), agent.WithPlanner(graph)},
		"no plan":         {agent.WithPlanner(nil)},
		"a tool twice":    {agent.WithTools(upper{}, upper{})},
		"a built-in name": {agent.WithTools(named("set"))},
		"no name":         {agent.WithTools(named(""))},
		"no iterations":   {agent.WithMaxIterations(0)},
	} {
		if _, err := agent.New("a", echo{}, options...); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := agent.New("", echo{}); err == nil {
		t.Error("no name: accepted")
	}
}

// named is a tool that panics.
type named string

func (n named) Spec() llm.ToolSpec                              { return llm.ToolSpec{Name: string(n)} }
func (n named) Call(context.Context, llm.ToolCall) (any, error) { panic("boom") }

// restless requests a tool in every answer.
type restless struct{ received []string }

func (r *restless) Complete(_ context.Context, q llm.Request) (llm.Response, error) {
	r.received = append(r.received, q.Messages[len(q.Messages)-1].Text)
	return llm.Response{Calls: []llm.Call{{ID: "1", Tool: "boom", Arguments: fmt.Sprintf(`{"n":%d}`, len(r.received))}}}, nil
}

func TestTheLoopIsBoundedAndAFailedToolIsReported(t *testing.T) {
	t.Parallel()
	p := &restless{}
	ag, err := agent.New("a", p, agent.WithTools(named("boom")), agent.WithMaxIterations(3))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = ag.Run(t.Context(), "go"); err == nil || !strings.Contains(err.Error(), "after 3 model calls") {
		t.Errorf("got %v", err)
	}
	if len(p.received) != 3 || p.received[1] != "Error: tool boom panicked: boom" {
		t.Errorf("the model received %q", p.received)
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

func TestAnAgentStepNeedsAModel(t *testing.T) {
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
	if f, ok := errors.AsType[*walk.Failure](err); !ok || f.Code != walk.CodeUnknownTool {
		t.Errorf("got %v", err)
	}
}

// greedy requests forty calls in its first answer and records their results.
type greedy struct{ answers []string }

func (g *greedy) Complete(_ context.Context, q llm.Request) (llm.Response, error) {
	last := q.Messages[len(q.Messages)-1]
	if last.Role != llm.RoleTool {
		var r llm.Response
		for i := range 40 {
			r.Calls = append(r.Calls, llm.Call{ID: strconv.Itoa(i), Tool: "count", Arguments: `{"n":` + strconv.Itoa(i) + `}`})
		}
		return r, nil
	}
	for _, m := range q.Messages {
		if m.Role == llm.RoleTool {
			g.answers = append(g.answers, m.Text)
		}
	}
	return llm.Response{Text: "enough"}, nil
}

type counter struct{ calls atomic.Int32 }

func (*counter) Spec() llm.ToolSpec {
	return llm.ToolSpec{Name: "count", Effect: walk.EffectRead}
}
func (c *counter) Call(context.Context, llm.ToolCall) (any, error) { return c.calls.Add(1), nil }

// L05: of forty calls in one turn, eight run, each after a policy check. The model receives an error for
// each of the others.
func TestCallsOfATurnAreBounded(t *testing.T) {
	t.Parallel()
	p, tool := &greedy{}, &counter{}
	var approved atomic.Int32
	l := conversation.Loop{Name: "a", Provider: p, Tools: []llm.Tool{tool}, Approve: func(int, string, any) error {
		approved.Add(1)
		return nil
	}}
	out, err := l.Run(t.Context(), "count", "")
	if err != nil || out != "enough" || tool.calls.Load() != 8 || approved.Load() != 8 || len(p.answers) != 40 {
		t.Fatalf("%v %v: %d calls, %d approved, %d answers", out, err, tool.calls.Load(), approved.Load(), len(p.answers))
	}
	for i, a := range p.answers {
		if refused := strings.HasPrefix(a, "Error: at most 8 calls"); refused != (i >= 8) {
			t.Errorf("answer %d: %s", i, a)
		}
	}
}

// The error of an agent with a plan names the node and wraps the error of the tool or model.
func TestAnAgentsErrorNamesTheNode(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	graph, err := planner.ParseYAML([]byte("nodes: {a: {type: noop}, b: {type: work}}\nedges: [{from: a, to: b}]"))
	if err != nil {
		t.Fatal(err)
	}
	ag, err := agent.New("a", echo{}, agent.WithPlanner(graph, func(exec *planner.Executor) {
		exec.Handlers["work"] = func(context.Context, planner.Node, *planner.State) (any, error) {
			return nil, fmt.Errorf("print: %w", boom)
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = ag.Run(t.Context(), "hello")
	if !errors.Is(err, boom) || err.Error() != `agent a: node "b" failed: print: boom` {
		t.Errorf("got %v", err)
	}
}
