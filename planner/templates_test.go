package planner_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/plannertest"
	"pgregory.net/rapid"
)

// A plan with templates is the same version as the plan with plain steps.
func TestTemplatesAreReplacedByPlainSteps(t *testing.T) {
	t.Parallel()
	d, _ := compiled(t, `
id: calls
templates:
  call: {type: http, timeout: 30s, retry: {max_attempts: 3, backoff: [1s]}}
  post: {use: call, timeout: 1m, input: {method: POST, url: "https://api.example"}}
nodes:
  get: {use: call, input: {url: "https://api.example/orders"}}
  put: {use: post, needs: [get], retry: null}
  each:
    needs: [put]
    foreach: [1, 2]
    do: {nodes: {one: {use: call, input: {url: "https://api.example/${item}"}}}}
`)
	plain, _ := compiled(t, `
id: calls
nodes:
  get: {type: http, timeout: 30s, retry: {max_attempts: 3, backoff: [1s]}, input: {url: "https://api.example/orders"}}
  put: {type: http, timeout: 1m, input: {method: POST, url: "https://api.example"}, needs: [get]}
  each:
    needs: [put]
    foreach: [1, 2]
    do:
      nodes:
        one: {type: http, timeout: 30s, retry: {max_attempts: 3, backoff: [1s]}, input: {url: "https://api.example/${item}"}}
`)
	if d.Hash != plain.Hash {
		t.Errorf("other versions:\n%s\n%s", d.Canonical(), plain.Canonical())
	}
	roundTrip(t, d)
}

// So is any plan whose steps have some of their keys in templates.
func TestAnyPlanCanHaveTemplates(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		src := plannertest.Plans().Draw(t, "plan")
		var plan map[string]any
		if err := json.Unmarshal([]byte(src), &plan); err != nil {
			t.Fatal(err)
		}
		templates := map[string]any{}
		move := func(step map[string]any) {
			template := map[string]any{}
			for _, key := range slices.Sorted(keysOf(step)) {
				if key != "id" && rapid.Bool().Draw(t, "in the template") {
					template[key] = step[key]
					delete(step, key)
				}
			}
			name := fmt.Sprintf("t%d", len(templates))
			templates[name], step["use"] = template, name
		}
		nodes, _ := plan["nodes"].(map[string]any)
		for _, key := range slices.Sorted(keysOf(nodes)) {
			move(nodes[key].(map[string]any))
		}
		steps, _ := plan["steps"].([]any)
		for _, s := range steps {
			move(s.(map[string]any))
		}
		plan["templates"] = templates
		changed, err := json.Marshal(plan)
		if err != nil {
			t.Fatal(err)
		}
		want, wantProblems := planner.Parse([]byte(src))
		got, problems := planner.Parse(changed)
		if (want == nil) != (got == nil) || want != nil && want.Hash != got.Hash {
			t.Errorf("%s\n%v\n%s\n%v", src, wantProblems, changed, problems)
		}
	})
}

func keysOf(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// P60: templates cannot make a small document large.
func TestTemplatesAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	fmt.Fprintf(&b, "templates: {big: {type: set, input: %q}}\nnodes:\n", strings.Repeat("x", 400_000))
	for i := range 1000 {
		fmt.Fprintf(&b, "  n%d: {use: big}\n", i)
	}
	d, problems := planner.Parse([]byte(b.String()))
	if d != nil || len(problems) == 0 || problems[0].Code != "template.size" {
		t.Errorf("%.300v", problems)
	}
}
