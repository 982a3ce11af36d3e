package walk_test

import (
	"testing"

	"github.com/kairosd/kairosd/planner"
)

// A program reads its input through a schema, a reference, a condition, or a first step that receives it.
func TestReadsInput(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]bool{
		"nodes: {a: {type: set, input: 1}}":                                                          false,
		"nodes: {a: {type: set, input: 1}, b: {type: set}}\nedges: [{from: a, to: b}]":               false,
		"input: {type: object}\nnodes: {a: {type: set, input: 1}}":                                   true,
		"nodes: {a: {type: set}}":                                                                    true,
		"nodes: {a: {type: set, input: \"${last}\"}}":                                                true,
		"nodes: {a: {type: set, input: 1}, b: {type: set, needs: [a], input: \"hi ${input.name}\"}}": true,
		"nodes: {a: {type: set, input: 1}, b: {type: set}}\n" +
			"edges: [{from: a, to: b, condition: \"expr: input.n > 1\"}]": true,
		"nodes: {a: {type: set, input: 1}, b: {type: set, needs: [a], foreach: \"${input.list}\", input: 1}}": true,
	} {
		d, problems := planner.Parse([]byte(src))
		if d == nil {
			t.Fatal(problems)
		}
		p, err := d.Program(nil)
		if err != nil {
			t.Fatal(err)
		}
		if p.ReadsInput() != want {
			t.Errorf("%v for\n%s", !want, src)
		}
	}
}
