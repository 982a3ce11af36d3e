package planner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/plannertest"
	"github.com/kairosd/kairosd/planner/walk"
	"pgregory.net/rapid"
)

// The graph of a step plan has its steps, retries, timeouts, conditions, and references in full.
func TestAStepPlanBecomesAGraph(t *testing.T) {
	t.Parallel()
	doc, problems := planner.Parse([]byte(`
id: post
steps:
  - {id: write, skillId: writing, task: Write a post, expectedOutput: text, order: 2}
  - {id: collect, tool: http, params: {url: "https://example.com"}, order: 1}
  - {id: check, tool: set, params: {text: write.result, "n": collect.result.body.n, plain: "write.results"}, order: 3,
     condition: {type: custom, expr: "output.collect.status == 200"}, retry: {maxAttempts: 1}, timeout: 5s}
`))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	g, problems := doc.Steps.ToGraph(&planner.Catalog{Skills: map[string]planner.SkillInfo{"writing": {Agent: "writer"}}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	got, err := g.Encode(planner.FormatYAML)
	want := `id: post
nodes:
  collect:
    type: tool
    tool: http
    input:
      url: https://example.com
    retry:
      max_attempts: 3
      backoff: [1s, 2s]
    timeout: 1m
  write:
    type: agent
    agent: writer
    input: |-
      The user's request:
      ${input}

      Results of previous steps:
      - collect: ${output.collect ?? null}

      Your task: Write a post

      Expected output: text
    retry:
      max_attempts: 3
      backoff: [1s, 2s]
    timeout: 1m
    needs: [collect]
    when: none_failed
  check:
    type: set
    input:
      "n": ${output.collect.body.n}
      plain: write.results
      text: ${output.write}
    retry:
      max_attempts: 1
    timeout: 5s
    needs: [write]
    when:
      after: none_failed
      if: 'expr: output.collect.status == 200'
`
	if d := cmp.Diff(want, string(got)); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
}

// A step plan that a graph cannot express is refused, with the step.
func TestAStepPlanThatIsNotConverted(t *testing.T) {
	t.Parallel()
	doc, problems := planner.Parse([]byte(`
steps:
  - {id: a, skillId: writing}
  - {id: b, tool: set, dependencies: [a], condition: {type: custom, expr: "output.a.n > 1", unknown: skip}}
`))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	_, problems = doc.Steps.ToGraph(nil)
	var got []string
	for _, p := range problems {
		got = append(got, string(p.Severity)+" "+p.Code+" "+p.Node)
	}
	if d := cmp.Diff([]string{"error step.skill_unknown a", "error convert.unknown b"}, got); d != "" {
		t.Error(d)
	}
}

// A converted plan runs as its step plan: every step ends with the same status and output.
func TestAConvertedPlanRunsAsItsStepPlan(t *testing.T) {
	t.Parallel()
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		text := plannertest.Plans().Draw(t, "plan")
		doc, _ := planner.Parse([]byte(text))
		if doc == nil || doc.Steps == nil {
			return
		}
		g, problems := doc.Steps.ToGraph(&planner.Catalog{})
		if slices.ContainsFunc(problems, func(p planner.Problem) bool { return p.Code == "convert.end" }) {
			return
		}
		if problems.Err() != nil {
			t.Fatal(problems, text)
		}
		encoded, err := g.Encode(planner.FormatYAML)
		if err != nil {
			t.Fatal(err)
		}
		converted, problems := planner.Parse(encoded)
		if problems.Err() != nil {
			t.Fatalf("%v\n%s\n%s", problems.Err(), text, encoded)
		}
		outcomes := plannertest.DrawOutcomes().Draw(t, "outcomes")
		if d := cmp.Diff(walked(t, doc, outcomes), walked(t, converted, outcomes)); d != "" {
			t.Fatalf("%s\n%s\n%s", text, encoded, d)
		}
		compared++
	})
	if compared == 0 {
		t.Error("no step plan was generated")
	}
}

// walked runs a document and returns how each step and the run ended.
func walked(t *rapid.T, doc *planner.Document, outcomes plannertest.Outcomes) []string {
	p, err := doc.Program(nil)
	if err != nil {
		t.Fatal(err)
	}
	w := walk.New(p, walk.Facts{Input: plannertest.Input()})
	for ready := w.Ready(); len(ready) > 0; ready = w.Ready() {
		for _, k := range ready {
			if _, err := w.Settle(outcomes.Of(p, k, -1, 1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	var out []string
	for i := range p.Nodes {
		status, _ := w.Status(i)
		output, _ := w.Output(p.Nodes[i].ID)
		out = append(out, fmt.Sprintf("%s %s %v", p.Nodes[i].ID, status, output))
	}
	slices.Sort(out)
	end := w.Outcome()
	failure := ""
	if end.Failure != nil {
		failure = end.Failure.Code + " " + end.Failure.Node
	}
	return append(out, strings.TrimSpace(fmt.Sprintf("run %s %v %s", end.Status, end.Output, failure)))
}
