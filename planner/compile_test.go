package planner_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

func compile(t *testing.T, src string, c *planner.Catalog) *walk.Program {
	t.Helper()
	d, problems := planner.Parse([]byte(src), planner.WithCatalog(c))
	if d == nil {
		t.Fatalf("%v\n%s", problems, src)
	}
	p, err := d.Program(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func node(t *testing.T, p *walk.Program, id string) walk.ProgramNode {
	t.Helper()
	i, ok := p.Index[id]
	if !ok {
		t.Fatalf("no node %s", id)
	}
	return p.Nodes[i]
}

func names(p *walk.Program, ids []int) string {
	var out []string
	for _, i := range ids {
		out = append(out, p.Nodes[i].ID)
	}
	return strings.Join(out, " ")
}

// The types of older documents are aliases. The name of a tool is a type.
func TestNodeTypes(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{"init": "noop", "format_output": "noop", "error_handler": "noop", "terminal": "noop",
		"validation": "decision", "llm_call": "llm", "noop": "noop", "datetime": "tool", "scrape": "scrape"} {
		p := compile(t, "nodes: {a: {type: "+written+"}}", testCatalog())
		n := node(t, p, "a")
		if n.Type != want || n.TypeName != written {
			t.Errorf("%s: got type %s (written %s), want %s", written, n.Type, n.TypeName, want)
		}
		if written == "datetime" && n.Tool != "datetime" {
			t.Errorf("got tool %q, want datetime", n.Tool)
		}
	}
	if n := node(t, compile(t, "nodes: {a: {type: datetime}}", nil), "a"); n.Type != "datetime" || n.Tool != "" {
		t.Errorf("without a catalog, got %s/%s, want the type as written", n.Type, n.Tool)
	}
	if n := node(t, compile(t, "nodes: {a: {type: tool, metadata: {tool: http}}}", nil), "a"); n.Tool != "http" {
		t.Errorf("got tool %q, want that of metadata.tool", n.Tool)
	}
}

// The language, the plan, and the node set defaults. The most specific one applies.
func TestDefaults(t *testing.T) {
	t.Parallel()
	p := compile(t, `
defaults: {retry: {max_attempts: 4, backoff: [1s]}, timeout: 5s, on_error: continue}
nodes:
  a: {type: set}
  b: {type: set, retry: {max_attempts: 2}, timeout: 1m, on_error: fail, max_visits: 7, foreach: input, max_parallel: 3}
edges: [{from: a, to: b}]`, nil)
	a, b := node(t, p, "a"), node(t, p, "b")
	if a.MaxAttempts != 4 || a.Timeout != 5*time.Second || a.OnError != walk.OnErrorContinue || a.MaxVisits != 1 || a.MaxParallel != 8 {
		t.Errorf("got %+v, want the plan's defaults", a)
	}
	if b.MaxAttempts != 2 || len(b.Backoff.List) != 0 || b.Timeout != time.Minute || b.OnError != walk.OnErrorFail || b.MaxVisits != 7 ||
		b.MaxParallel != 3 {
		t.Errorf("got %+v, want the node's own", b)
	}
	bare := node(t, compile(t, "nodes: {a: {type: llm}}", nil), "a")
	if bare.MaxAttempts != 1 || bare.Timeout != 0 || bare.OnError != walk.OnErrorFail {
		t.Errorf("got %+v, want one attempt, no timeout and fail", bare)
	}
}

// Steps of a step plan have three attempts, after 1 s and 2 s. Tools and agents have a timeout of
// 60 s.
func TestStepDefaults(t *testing.T) {
	t.Parallel()
	p := compile(
		t,
		`{"steps": [{"id": "a", "tool": "http", "params": {"url": "x"}}, {"id": "b", "agentId": "support", "task": "look at ${output.a}"},
		{"id": "c", "tool": "set", "params": {"x": 1}, "retry": {"maxAttempts": 2, "backoffMs": [5, 7]}, "timeout": "9s"},
		{"id": "d", "agentId": "support", "task": "hello", "params": {"tone": "kind"}}, {"id": "e", "skillId": "generate_content", "params": {"topic": "x"}},
		{"id": "f", "skillId": "keep", "params": {}}]}`,
		testCatalog(),
	)
	for id, want := range map[string]walk.ProgramNode{
		"a": {Type: "tool", Tool: "http", Attempts: walk.Attempts{MaxAttempts: 3, Timeout: time.Minute}},
		"b": {Type: "agent", Agent: "support", Attempts: walk.Attempts{MaxAttempts: 3, Timeout: time.Minute},
			StepFacts: walk.StepFacts{Task: "look at ${output.a}"}},
		"c": {Type: "set", Attempts: walk.Attempts{MaxAttempts: 2, Timeout: 9 * time.Second}},
		"d": {Type: "agent", Agent: "support", Attempts: walk.Attempts{MaxAttempts: 3, Timeout: time.Minute},
			StepFacts: walk.StepFacts{Task: "hello"}},
		"e": {Type: "agent", Agent: "support", Attempts: walk.Attempts{MaxAttempts: 3, Timeout: time.Minute}},
		"f": {Type: "set", Attempts: walk.Attempts{MaxAttempts: 3}},
	} {
		n := node(t, p, id)
		if show := func(n walk.ProgramNode) string {
			return fmt.Sprintf("type %s tool %s agent %s attempts %d timeout %s task %s", n.Type, n.Tool, n.Agent, n.MaxAttempts,
				n.Timeout, n.Task)
		}; show(n) != show(want) {
			t.Errorf("%s: got %s, want %s", id, show(n), show(want))
		}
	}
	a := node(t, p, "a")
	if got := []time.Duration{a.Backoff.Delay(1, 0), a.Backoff.Delay(2, 0)}; got[0] != time.Second || got[1] != 2*time.Second {
		t.Errorf("got waits %v, want 1s and 2s", got)
	}
	for id, want := range map[string]string{"a": `{"url":"x"}`, "b": `"look at ${output.a}"`,
		"d": `{"params":{"tone":"kind"},"task":"hello"}`, "e": `{"topic":"x"}`, "f": "{}"} {
		got, err := jsonvalue.Encode(node(t, p, id).Input.Source)
		if err != nil || string(got) != want {
			t.Errorf("input of %s: got %s (%v), want %s", id, got, err, want)
		}
	}
}

// A step plan without dependencies runs by order, else as listed. If any step has dependencies,
// every step starts as soon as its own have settled.
func TestStepOrder(t *testing.T) {
	t.Parallel()
	p := compile(
		t,
		`{"steps": [{"id": "c", "order": 3, "tool": "set"}, {"id": "a", "order": 1, "tool": "set"}, {"id": "b", "order": 2, `+
			`"tool": "set"}]}`,
		nil,
	)
	if got := names(p, []int{0, 1, 2}); got != "a b c" || !p.Sequential {
		t.Errorf("got %s, want a b c in sequence", got)
	}
	if got := names(p, p.Roots) + "|" + names(p, p.Nodes[1].Needs) + "|" + names(p, p.Nodes[1].Dependents); got != "a|a|c" {
		t.Errorf("got %s, want each step to need the one before", got)
	}
	p = compile(t, `{"steps": [{"id": "x", "tool": "set"}, {"id": "y", "tool": "set"}]}`, nil)
	if got := names(p, []int{0, 1}); got != "x y" {
		t.Errorf("got %s, want list order", got)
	}
	p = compile(t, fullSteps, testCatalog())
	if got := names(p, p.Roots) + "|" + names(p, node(t, p, "step-4").Needs) + "|" + names(p,
		node(t, p, "step-1").Dependents); p.Sequential ||
		got != "step-1|step-1 step-3|step-2 step-3 step-4" {
		t.Errorf("got %s", got)
	}
	if n := node(t, p, "step-4"); n.When != walk.WhenSuccess || n.WhenCond == nil {
		t.Errorf("got when %s, want the custom condition", n.When)
	}
	// A bare reference means the output of that step.
	refs := node(t, p, "step-2").Input.References()
	if len(refs) != 1 || refs[0].Node() != "step-1" {
		t.Errorf("got references %v, want one to step-1", refs)
	}
}

// Edges keep their order and position. Roots, needs, and cycles are found.
func TestGraphProgram(t *testing.T) {
	t.Parallel()
	p := compile(t, fullGraph, testCatalog())
	get := node(t, p, "get")
	var edges []string
	for _, e := range get.Out {
		edges = append(edges, fmt.Sprintf("%d→%s %v", e.Position, p.Nodes[e.To].ID, e.Cond.Fallback()))
	}
	want := []string{"1→each false", "2→ask false", "3→get false", "4→sub true"}
	if diff := cmp.Diff(want, edges); diff != "" {
		t.Error(diff)
	}
	if names(p, p.Roots) != "begin" || !get.OnCycle || node(t, p, "ask").OnCycle || get.Incoming != 2 {
		t.Errorf("got roots %s, cycle %v, incoming %d", names(p, p.Roots), get.OnCycle, get.Incoming)
	}
	if each := node(t, p, "each"); each.Foreach == nil || each.Foreach.References()[0].Node() != "get" || each.MaxParallel != 2 {
		t.Errorf("got foreach %+v", each)
	}
	if !p.ContinueBranches || !p.Strict || p.Limits.MaxSteps != 100 {
		t.Errorf("got %+v", p.Limits)
	}
}

// A side-effect class comes from the document, else from the tool, the agent, or the type. Check of
// a catalog reports entries that no plan could use.
func TestCatalogCheck(t *testing.T) {
	t.Parallel()
	if ps := testCatalog().Check(); len(ps) != 0 {
		t.Errorf("got %v, want none", ps)
	}
	c := &planner.Catalog{Tools: map[string]planner.ToolInfo{"noop": {}, "llm_call": {}, "http": {Schema: map[string]any{"type": "odd"}}},
		Skills: map[string]planner.SkillInfo{"a": {}, "b": {Tool: "htp"}, "c": {Agent: "x"}, "d": {Tool: "set"}}}
	want := "skill.binding skill.tool_unknown skill.agent_unknown tool.name_reserved tool.name_reserved tool.schema_invalid"
	var got []string
	for _, p := range c.Check() {
		got = append(got, p.Code)
	}
	slices.Sort(got)
	words := strings.Fields(want)
	slices.Sort(words)
	if !slices.Equal(got, words) {
		t.Errorf("got %v, want %v", got, words)
	}
}

func TestEffects(t *testing.T) {
	t.Parallel()
	c := testCatalog()
	c.Tools["fetch"] = planner.ToolInfo{Effect: walk.EffectUnsafe, EffectOf: func(args any) walk.Effect {
		if m, _ := args.(map[string]any); m["method"] == "GET" {
			return walk.EffectRead
		}
		return walk.EffectUnsafe
	}}
	for src, want := range map[string]walk.Effect{
		"{type: noop}": "pure", "{type: set, input: 1}": "pure", "{type: log}": "pure", "{type: decision}": "pure",
		"{type: llm}":                    "idempotent",
		"{type: wait, input: {for: 1s}}": "control", "{type: approval, input: {message: ok}}": "control",
		"{type: plan, plan: x}": "control",
		"{type: datetime}":      "read", "{type: http, input: {url: x}}": "unsafe",
		"{type: http, input: {url: x}, effect: idempotent}": "idempotent",
		"{type: agent, agent: billing}":                     "unsafe", "{type: agent, agent: support}": "idempotent",
		"{type: scrape}":                      "read",
		"{type: fetch, input: {method: GET}}": "read", "{type: fetch, input: {method: POST}}": "unsafe", "{type: fetch}": "unsafe",
	} {
		p := compile(t, "nodes: {a: "+src+"}", c)
		if got := c.EffectOf(&p.Nodes[0]); got != want {
			t.Errorf("%s: got %s, want %s", src, got, want)
		}
	}
}

// A document can be compiled concurrently.
func TestConcurrentCompile(t *testing.T) {
	t.Parallel()
	d, problems := planner.Parse([]byte(fullGraph), planner.WithFormat(planner.FormatYAML))
	if d == nil {
		t.Fatal(problems)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := d.Program(testCatalog()); err != nil {
				t.Error(err)
			}
			d.Check(nil)
		})
	}
	group.Wait()
}

// A check against the catalog of another server finds what is missing there.
func TestProgramChecksTheCatalog(t *testing.T) {
	t.Parallel()
	d, _ := planner.Parse([]byte("nodes: {a: {type: tool, tool: htp}}"), planner.WithFormat(planner.FormatYAML))
	if _, err := d.Program(testCatalog()); err == nil || !strings.Contains(err.Error(), `unknown tool "htp" (did you mean http?)`) {
		t.Errorf("got %v, want the unknown tool", err)
	}
}
