package walk_test

import (
	"fmt"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// A driver takes the visits that are ready, runs them, and settles each with its
// outcome. The walk decides what follows.
func ExampleWalk() {
	graph, err := planner.ParseYAML([]byte(`
nodes:
  check: {type: lookup, input: "${input.order}"}
  ship: {type: ship}
  refund: {type: refund}
edges:
  - {from: check, to: ship, condition: "last.paid==true"}
  - {from: check, to: refund, condition: default}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	program, err := graph.Compile(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	w := walk.New(program, walk.Facts{RunID: "run-1", Input: map[string]any{"order": "A-17"}})
	outputs := map[string]any{"check": map[string]any{"paid": true}, "ship": "sent"}
	for ready := w.Ready(); len(ready) > 0; ready = w.Ready() {
		for _, v := range ready {
			node := program.Nodes[v.Node].ID
			input, _ := w.Input(v, -1)
			decision, err := w.Settle(walk.Settlement{VisitKey: v, Item: -1, Status: walk.Completed, Output: outputs[node]})
			fmt.Println(node, input, "leads to", decision.To, err)
		}
	}
	fmt.Println(w.Outcome().Status, w.Outcome().Output)
	// Output:
	// check A-17 leads to ship <nil>
	// ship map[paid:true] leads to  <nil>
	// completed sent
}
