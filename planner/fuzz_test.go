package planner_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/kairosd/kairosd/planner"
)

// seedPlans adds every document of the problem cases and a few valid plans.
func seedPlans(f *testing.F) {
	f.Helper()
	files, _ := filepath.Glob("testdata/problems/*.txt")
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		_, cases := splitCases(src)
		for _, c := range cases {
			f.Add([]byte(c.document))
		}
	}
	for _, src := range []string{fullGraph, fullSteps} {
		f.Add([]byte(src))
	}
}

// checkProblems checks that all problems can be shown, whatever the input is.
func checkProblems(t *testing.T, d *planner.Document, ps planner.Problems) {
	t.Helper()
	failed := ps.Err() != nil
	if (d == nil) != failed {
		t.Fatalf("document %v with problems %v", d != nil, ps)
	}
	for _, p := range ps {
		if p.Code == "" || p.Message.IsZero() || p.Line < 0 || p.Column < 0 || !utf8.ValidString(p.Message.String()) ||
			len(p.Message.String()) > 2000 {
			t.Fatalf("bad problem %+v", p)
		}
	}
	if len(ps) > 251 {
		t.Fatalf("%d problems", len(ps))
	}
}

func fuzzParse(f *testing.F, format planner.Format) {
	seedPlans(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		d, ps := planner.Parse(src, planner.WithFormat(format), planner.WithCatalog(testCatalog()))
		checkProblems(t, d, ps)
		if d == nil {
			return
		}
		p, err := d.Program(testCatalog())
		if err != nil {
			t.Fatalf("a valid document does not compile: %v", err)
		}
		for i, n := range p.Nodes {
			if n.Index != i || p.Index[n.ID] != i || n.MaxAttempts < 1 || n.MaxVisits < 1 || n.Timeout < 0 || n.Type == "" {
				t.Fatalf("bad node %+v", n)
			}
		}
		if len(p.Roots) == 0 {
			t.Fatal("a program without roots")
		}
	})
}

func FuzzParseYAML(f *testing.F) { fuzzParse(f, planner.FormatYAML) }
func FuzzParseJSON(f *testing.F) { fuzzParse(f, planner.FormatJSON) }

// FuzzRoundTrip checks that both formats preserve a plan.
func FuzzRoundTrip(f *testing.F) {
	seedPlans(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		if d, _ := planner.Parse(src); d != nil {
			roundTrip(t, d)
		}
	})
}

// FuzzFormatsAgree checks that a JSON text has the same problems and the same hash if it is parsed
// as YAML.
func FuzzFormatsAgree(f *testing.F) {
	seedPlans(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		d, _ := planner.Parse(src)
		if d == nil {
			return
		}
		canonical := d.Canonical()
		asJSON, jsonProblems := planner.Parse(canonical, planner.WithFormat(planner.FormatJSON))
		asYAML, yamlProblems := planner.Parse(yamlSafe(canonical), planner.WithFormat(planner.FormatYAML))
		if asJSON == nil || asYAML == nil {
			t.Fatalf("canonical form is refused: %v %v\n%s", jsonProblems, yamlProblems, canonical)
		}
		if asJSON.Hash != d.Hash || asYAML.Hash != d.Hash {
			t.Fatalf(
				"hashes differ: %s %s %s\n%s\n%s\n%s",
				d.Hash,
				asJSON.Hash,
				asYAML.Hash,
				canonical,
				asJSON.Canonical(),
				asYAML.Canonical(),
			)
		}
		if a, b := codes(jsonProblems), codes(yamlProblems); a != b {
			t.Fatalf("problems differ: %s", cmp.Diff(a, b))
		}
	})
}

// yamlSafe escapes characters that JSON allows and that YAML treats as line ends.
func yamlSafe(b []byte) []byte {
	return bytes.ReplaceAll(b, []byte("\u0085"), []byte(`\u0085`))
}

func codes(ps planner.Problems) string {
	var b strings.Builder
	for _, p := range ps {
		b.WriteString(p.Code + " " + p.Node + "\n")
	}
	return b.String()
}

const fullGraph = `
id: everything
name: "Everything at once"
description: |
  Two lines
  of text
input: {type: object, properties: {name: {type: string}}}
defaults: {retry: {max_attempts: 2, backoff: [10ms, 1s]}, timeout: 1m30s, on_error: continue}
limits: {max_steps: 100, max_duration: 1h, max_tokens: 5000, max_cost: 1.25}
on_failure: continue_branches
strict: true
metadata: {team: ops, nested: {a: [1, null, true]}}
x-editor: {color: red}
start: begin
nodes:
  begin: {type: init}
  fetch:
    id: get
    type: http
    input: {url: "https://example.com/${input.name}", n: 1.50, big: 12345678901234567890, "null": ~, "yes": no, " pad": " x "}
    metadata: {a: 1, b: true, c: text}
    retry: {max_attempts: 5, backoff: {initial: 1s, factor: 1.5, max: 30s, jitter: 0.1}}
    timeout: 250ms
    on_error: skip
    effect: idempotent
    max_visits: 3
  each: {type: set, foreach: "${output.get.items}", max_parallel: 2, input: "${item.id}"}
  ask: {type: llm, agent: support, input: "hello\nworld", output_schema: {type: object}}
  sub: {type: plan, plan: other@3}
  gate: {type: approval, input: {message: "ok?", timeout: 1h, on_timeout: reject}}
edges:
  - {from: begin, to: fetch}
  - {from: get, to: each, condition: "last.status == 200"}
  - {from: get, to: ask, condition: "expr: last.n > 1 && input.name != ''"}
  - {from: get, to: get, condition: failed}
  - {from: get, to: sub, condition: default}
  - {from: each, to: gate}
`

const fullSteps = `{
  "id": "plan-001", "name": "Post", "description": "Generate a post",
  "input": {"type": "object"}, "defaults": {"on_error": "skip"}, "limits": {"max_steps": 9},
  "steps": [
    {"id": "step-1", "order": 1, "skillId": "generate_content", "params": {"topic": "AI ethics"}, "retry": {"maxAttempts": 3, "backoffMs": [1000, 2000, 4000]}},
    {"id": "step-2", "order": 2, "tool": "set", "params": {"contentSource": "step-1.result.content"}, "dependencies": ["step-1"], "condition": {"type": "success"}},
    {"id": "step-3", "order": 3, "agentId": "support", "task": "Check it", "dependencies": ["step-1"], "expectedOutput": "a verdict", "timeout": "2m", "on_error": "continue"},
    {"id": "step-4", "order": 4, "tool": "set", "params": {"contentSource": "step-1.result.content", "maxLength": 150}, "dependencies": ["step-1", "step-3"],
     "condition": {"type": "custom", "expr": "output[\"step-3\"].approved == true"}}
  ],
  "estimatedDuration": 15000, "estimatedCost": 2500,
  "metadata": {"createdBy": "planner", "createdAt": "2026-02-24T00:00:00Z", "confidence": 0.92, "alternatives": [{"cheaper": null}], "session": null}
}`
