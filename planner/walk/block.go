package walk

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Block holds the steps of a node with do:. They are a program of their own. A run executes them in a
// child run.
type Block struct {
	Program *Program
	// Source is the document of the program: canonical JSON.
	Source []byte
}

// keySeparator separates the key of a plan from the step of a block. No key of a plan may contain it.
const keySeparator = "/"

// BlockKey returns the key of the plan that holds the block of a step.
func BlockKey(plan, step string) string { return plan + keySeparator + step }

// PlanOf returns the key of the plan that contains a block, or the key itself for any other plan.
func PlanOf(key string) string {
	plan, _, _ := strings.Cut(key, keySeparator)
	return plan
}

// itemInput is the input of a run that executes a block for one item of a list.
func itemInput(item any, index int) map[string]any {
	return map[string]any{"item": item, "index": json.Number(strconv.Itoa(index))}
}

// ItemInput splits the input of a run of a program with Each: {item, index, input}. Without an input of
// its own, the item is the input. The index is -1 if there is no item.
func ItemInput(v any) (input, item any, index int) {
	m, _ := v.(map[string]any)
	number, ok := m["index"].(json.Number)
	if !ok {
		return v, nil, -1
	}
	n, err := strconv.Atoi(number.String())
	if err != nil || n < 0 {
		return v, nil, -1
	}
	input, given := m["input"]
	if !given {
		input = m["item"]
	}
	return input, m["item"], n
}

// EachNode calls f for every node of the program, and for those of its blocks after the node that contains
// them. The path of a node is its ID, after the IDs of the nodes that contain it, such as ship/reserve.
func EachNode(p *Program, f func(path string, n *ProgramNode)) { eachNode(p, "", f) }

func eachNode(p *Program, above string, f func(string, *ProgramNode)) {
	for i := range p.Nodes {
		n := &p.Nodes[i]
		f(above+n.ID, n)
		if n.Block != nil {
			eachNode(n.Block.Program, above+n.ID+keySeparator, f)
		}
	}
}
