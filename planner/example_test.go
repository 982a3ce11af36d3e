package planner_test

import (
	"context"
	"fmt"

	"github.com/kairosd/kairosd/planner"
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

// The minimal graph of the explicit planner, walked in memory.
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

// Branching: the first condition that fits is taken, default is the fallback.
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

// A handler for one node wins over the handler of its type.
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
