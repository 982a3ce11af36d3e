package randomplan

import (
	"encoding/json"
	"fmt"

	"pgregory.net/rapid"
)

// Parts are the plans that composite plans run as child runs, by key.
var Parts = map[string]string{
	"part": `{"id": "part", "values": {"v": 3}, "nodes": {
		"p0": {"type": "call", "input": {"of": "${input}", "v": "${value.v}"}},
		"p1": {"type": "flaky", "needs": ["p0"], "input": "${output.p0}"},
		"p2": {"type": "wait", "needs": ["p1"], "input": {"for": "5ms"}},
		"p3": {"type": "set", "needs": ["p2"], "input": {"n": "${output.p1.n}"}}},
		"profiles": {"other": {"values": {"v": 4}}}}`,
	"turn": `{"id": "turn", "concurrency": {"key": "turn-${input.v ?? 0}"}, "nodes": {
		"t0": {"type": "flaky", "input": "${input}"},
		"t1": {"type": "wait", "needs": ["t0"], "input": {"for": "5ms"}},
		"t2": {"type": "set", "needs": ["t1"], "input": "${output.t0}"}}}`,
	"whole": `{"id": "whole", "nodes": {
		"w0": {"type": "plan", "plan": "part", "input": "${input}", "on_error": "continue"},
		"w1": {"type": "set", "needs": ["w0"], "input": {"n": "${output.w0.n ?? 0}"}}}}`,
}

// Composite draws a plan with timers, blocks, child runs, and races, and the profile with which it runs, or "".
func Composite(t *rapid.T) (src, profile string) {
	// A race in a plan with replans would depend on speed: a new version keeps the winner only if the step after it has not run.
	c := composite{t, map[string]any{}, []string{}, rapid.IntRange(0, 2).Draw(t, "replans") == 0}
	for i := range rapid.IntRange(1, 5).Draw(t, "nodes") {
		id := fmt.Sprintf("n%d", i)
		if i > 0 && !c.replans && rapid.IntRange(0, 4).Draw(t, "race") == 0 {
			c.race(id)
			continue
		}
		c.nodes[id] = c.connected(c.node(id))
		c.before = append(c.before, id)
	}
	doc := map[string]any{"nodes": c.nodes, "values": map[string]any{"v": 1}, "strict": rapid.Bool().Draw(t, "strict"),
		"profiles": map[string]any{"other": map[string]any{"values": map[string]any{"v": 2}}}}
	if rapid.IntRange(0, 3).Draw(t, "finally") == 0 {
		doc["finally"] = finally(t)
	}
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), rapid.SampledFrom([]string{"", "other"}).Draw(t, "profile")
}

type composite struct {
	t      *rapid.T
	nodes  map[string]any
	before []string // nodes that others may need
	// replans draws steps that fail and lead to another version of the plan; see [Planner].
	replans bool
}

// node draws a node without its connections.
func (c *composite) node(id string) map[string]any {
	n := map[string]any{"input": map[string]any{"from": id, "x": "${input.x}", "v": "${value.v}"}}
	kinds := []string{"wait", "block", "plan", "calc", "call", "charge", "flaky"}
	if c.replans {
		kinds = append(kinds, "fail")
	}
	switch kind := rapid.SampledFrom(kinds).Draw(c.t, "kind"); kind {
	case "wait":
		return map[string]any{"type": "wait", "input": map[string]any{"for": rapid.SampledFrom([]string{"1ms", "20ms"}).Draw(c.t, "for")}}
	case "block":
		n["do"] = c.block()
	case "fail":
		return map[string]any{"type": "fail", "on_error": "replan", "input": map[string]any{"code": "lost", "message": "it cannot be done"}}
	case "plan":
		n["type"], n["plan"] = "plan", rapid.SampledFrom([]string{"part", "whole", "turn"}).Draw(c.t, "plan")
	default:
		n["type"] = kind
	}
	if rapid.IntRange(0, 2).Draw(c.t, "fan") == 0 {
		n["foreach"], n["max_parallel"] = "${input.list}", 1
		if !c.replans { // after a replan, the failure of an item is known at once, so that which other items begin depends on speed
			n["max_parallel"] = rapid.IntRange(1, 3).Draw(c.t, "parallel")
		}
		n["input"] = map[string]any{"item": "${item}", "v": "${value.v}"}
	}
	if rapid.Bool().Draw(c.t, "continue") {
		n["on_error"] = "continue"
	}
	return n
}

// block draws the steps of a block.
func (c *composite) block() map[string]any {
	inner := map[string]any{"type": "set", "needs": []any{"b0"}, "when": "always", "input": map[string]any{"n": "${output.b0.n ?? 9}"}}
	if rapid.IntRange(0, 2).Draw(c.t, "inner") == 0 {
		inner = map[string]any{"needs": []any{"b0"}, "input": "${output.b0}", "do": map[string]any{"nodes": map[string]any{
			"c0": map[string]any{"type": "wait", "input": map[string]any{"for": "2ms"}},
			"c1": map[string]any{"type": "calc", "needs": []any{"c0"}, "input": "${input}"}}, "result": "${output.c1}"}}
	}
	typ := rapid.SampledFrom([]string{"calc", "charge", "flaky"}).Draw(c.t, "type in a block")
	return map[string]any{"nodes": map[string]any{"b0": map[string]any{"type": typ, "input": "${input}"}, "b1": inner},
		"result": map[string]any{"n": "${output.b1.n ?? 1}"}}
}

// connected adds dependencies to a node.
func (c *composite) connected(n map[string]any) map[string]any {
	var needs []any
	for _, id := range c.before {
		if rapid.IntRange(0, 1).Draw(c.t, "need") == 0 {
			needs = append(needs, id)
		}
	}
	if len(needs) > 0 {
		n["needs"] = needs
		if when := rapid.SampledFrom([]string{"", "", "always", "failure"}).Draw(c.t, "when"); when != "" {
			n["when"] = when
		}
	}
	return n
}

// race adds steps of which the winner does not depend on speed: one next to an hour, or one next to a failure. They depend on no
// other step, so that both begin before one ends.
func (c *composite) race(id string) {
	first, second := id+"a", id+"b"
	if rapid.Bool().Draw(c.t, "hour") {
		c.nodes[first] = map[string]any{"type": "calc", "input": "${input.x}"}
		c.nodes[second] = map[string]any{"type": "wait", "input": map[string]any{"for": "1h"}}
	} else {
		c.nodes[first] = map[string]any{"type": "flaky", "input": "${value.v}"}
		c.nodes[second] = map[string]any{"type": "fail", "input": map[string]any{"code": "lost", "message": "the loser"}}
	}
	c.nodes[id] = map[string]any{"type": "set", "race": []any{first, second},
		"input": map[string]any{"last": "${last}", "first": "${status." + first + "}", "second": "${status." + second + "}"}}
	c.before = append(c.before, id)
}
