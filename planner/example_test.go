package planner_test

import (
	"context"
	"fmt"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

const hello = `
id: hello-graph
start: step-1
nodes:
  step-1:
    type: log
    input: "hola"
  step-2:
    type: log
    input: "mundo"
edges:
  - from: step-1
    to: step-2
`

// Parse reports all problems of a document at once, each with its position and a suggestion.
func ExampleParse() {
	_, problems := planner.Parse([]byte(`
nodes:
  fetch: {type: noop, retries: 3}
  store: {type: nop}
edges:
  - {from: fetch, to: stor}
`))
	for _, p := range problems {
		fmt.Println(p.Severity, p.Code, p)
	}
	fmt.Println(problems.Err() != nil)
	// Output:
	// error field.unknown line 3, column 23: unknown key "retries" in a step (write retry: {max_attempts: …})
	// error edge.target_unknown line 6, column 23: to refers to step "stor", which does not exist (did you mean store?)
	// true
}

// With a catalog, Parse also checks the names of tools and agents, and the arguments of tools.
func ExampleWithCatalog() {
	catalog := &planner.Catalog{Tools: map[string]planner.ToolInfo{"http": {Effect: walk.EffectUnsafe}}}
	_, problems := planner.Parse([]byte("nodes: {a: {type: tool, tool: htp}}"), planner.WithCatalog(catalog))
	fmt.Println(problems.Err())
	// Output:
	// line 1, column 31: unknown tool "htp" (did you mean http?)
}

// A graph can also be built in Go. Encode writes it as a document.
func ExampleGraph_Encode() {
	graph := &planner.Graph{
		ID:    "built-in-go",
		Nodes: map[string]planner.Node{"a": {Type: "set", Input: 1}, "b": {Type: "noop"}},
		Edges: []planner.Edge{{From: "a", To: "b", Condition: "last==1"}},
	}
	if err := graph.Validate(); err != nil {
		fmt.Println(err)
		return
	}
	src, err := graph.Encode(planner.FormatYAML)
	fmt.Print(string(src), err)
	// Output:
	// id: built-in-go
	// nodes:
	//   a:
	//     type: set
	//     input: 1
	//   b:
	//     type: noop
	// edges:
	// - {from: a, to: b, condition: last==1}
	// <nil>
}

// An executor walks a minimal graph in memory.
func ExampleExecutor() {
	graph, err := planner.ParseYAML([]byte(hello))
	if err != nil {
		fmt.Println(err)
		return
	}
	exec := planner.NewExecutor(map[string]planner.Handler{
		"log": func(ctx context.Context, node planner.Node, state *planner.State) (any, error) {
			fmt.Printf("node %s input=%v\n", node.ID, node.Input)
			return node.Input, nil
		},
	})
	state, err := exec.Execute(context.Background(), graph, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("last output: %v\n", state.Last)
	// Output:
	// node step-1 input=hola
	// node step-2 input=mundo
	// last output: mundo
}

// The first edge whose condition holds is taken. The edge with condition default is the fallback.
func ExampleExecutor_branching() {
	graph, err := planner.ParseYAML([]byte(`
nodes:
  step-1: {type: log, input: ok}
  step-2: {type: log, input: branch-ok}
  step-3: {type: log, input: branch-default}
edges:
  - {from: step-1, to: step-2, condition: "last==ok"}
  - {from: step-1, to: step-3, condition: "default"}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	exec := planner.NewExecutor(map[string]planner.Handler{
		"log": func(_ context.Context, node planner.Node, _ *planner.State) (any, error) { return node.Input, nil },
	})
	exec.AuditHook = func(ctx context.Context, event planner.AuditEvent) {
		fmt.Printf("node=%s status=%s\n", event.NodeID, event.Status)
	}
	state, err := exec.Execute(context.Background(), graph, nil)
	fmt.Println(state.Last, err)
	// Output:
	// node=step-1 status=started
	// node=step-1 status=completed
	// node=step-2 status=started
	// node=step-2 status=completed
	// branch-ok <nil>
}

// A handler for one node takes precedence over the handler of its type.
func ExampleExecutor_handlersByID() {
	graph, _ := planner.ParseYAML([]byte(hello))
	exec := planner.NewExecutor(map[string]planner.Handler{
		"log": func(_ context.Context, node planner.Node, _ *planner.State) (any, error) { return node.Input, nil },
	})
	exec.HandlersByID["step-2"] = func(_ context.Context, _ planner.Node, state *planner.State) (any, error) {
		return fmt.Sprint(state.Last, " y adiós"), nil
	}
	state, err := exec.Execute(context.Background(), graph, nil)
	fmt.Println(state.Last, err)
	// Output: hola y adiós <nil>
}
