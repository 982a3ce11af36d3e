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

// A condition is compiled once and evaluated against what a visit sees.
func ExampleParseCondition() {
	condition, err := walk.ParseCondition("output.fetch.status==503")
	if err != nil {
		fmt.Println(err)
		return
	}
	holds, saw, failure := condition.Evaluate(walk.Env{Outputs: map[string]any{"fetch": map[string]any{"status": 503}}})
	fmt.Println(holds, saw.Saw, failure)

	_, err = walk.ParseCondition("output.fetch.status>=500")
	fmt.Println(err)
	// Output:
	// true 503 <nil>
	// malformed condition "output.fetch.status>=500"
}

// A template fills references into a value. A string that is one reference takes the type of its value.
func ExampleParseTemplate() {
	template, err := walk.ParseTemplate(map[string]any{"text": "order ${input.id}", "lines": "${output.fetch.lines}"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	value, failure := template.Render(walk.Env{Input: map[string]any{"id": "A-17"},
		Outputs: map[string]any{"fetch": map[string]any{"lines": []any{1, 2}}}})
	fmt.Println(value, failure)
	// Output:
	// map[lines:[1 2] text:order A-17] <nil>
}
