package planner_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/planner"
)

func problemTexts(t *testing.T, src string) string {
	t.Helper()
	_, problems := planner.Parse([]byte(src))
	var out []string
	for _, p := range problems {
		out = append(out, string(p.Severity)+" "+p.Message.String()+" ("+p.Suggestion.String()+")")
	}
	return strings.Join(out, "\n")
}

// A malformed condition of an edge is one problem. The edge still counts for reachability.
func TestAMalformedConditionIsOneProblem(t *testing.T) {
	t.Parallel()
	got := problemTexts(
		t,
		"id: a\nnodes:\n  a: {type: set, input: 1}\n  b: {type: set, input: 2}\n  c: {type: set, input: 3}\nedges:\n"+
			"  - {from: a, to: b, condition: \"last>3\"}\n  - {from: b, to: c}\n",
	)
	if got != `error condition: malformed condition "last>3" (comparisons need an expression: expr: last>3)` {
		t.Error(got)
	}
}

// Problems of step plans use the terms of step plans.
func TestProblemsOfStepPlansNameStepsAndDependencies(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"id: a\nsteps:\n  - {id: a, order: 1, tool: set, dependencies: [x]}\n":                                         `dependencies refers to step "x", which does not exist (did you mean a?)`,
		"id: a\nsteps:\n  - {id: a, order: 1, tool: set, dependencies: [a]}\n":                                         `step "a" depends on itself`,
		"id: a\nsteps:\n  - {id: b, order: 1, tool: set}\n  - {id: a, order: 2, tool: set, dependencies: [b, b]}\n":    `dependencies lists step "b" twice`,
		"id: a\nsteps:\n  - {id: b, order: 1, tool: set, params: {x: a.result}}\n  - {id: a, order: 2, tool: set}\n":   `does not run before step "b" (name a step that runs before it)`,
		"id: a\nsteps:\n  - {id: a, order: 2, tool: set, dependencies: [node]}\n  - {id: node, order: 3, tool: set}\n": `warning step "a" has order 2, but depends on "node", which has order 3; dependencies decide`,
		"id: a\nsteps:\n  - {id: b, order: 1, tool: set}\n  - {id: a, order: 2, tool: set, dependencies: [b]}\n":       ``,
		"id: a\nnodes:\n  a: {type: set, needs: [x]}\n":                                                                `needs refers to step "x", which does not exist`,
	} {
		if got := problemTexts(t, src); want == "" && got != "" || !strings.Contains(got, want) ||
			want != "" && strings.HasPrefix(src, "id: a\nsteps") && strings.Contains(strings.ReplaceAll(got, `"node"`, ""), "node") {
			t.Errorf("%s\ngot %s\nwant %s", src, got, want)
		}
	}
}
