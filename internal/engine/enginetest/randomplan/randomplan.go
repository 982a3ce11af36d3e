// Package randomplan draws plans whose steps have scripted handlers, for tests that compare ways to run a plan.
package randomplan

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"

	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// Result computes the behavior of every scripted node: a small value that depends on the node and
// its input, and for some nodes sometimes a failure.
func Result(node, typ string, input any) (any, *walk.Failure) {
	raw, err := jsonvalue.Encode(input)
	if err != nil {
		return nil, (&walk.Failure{Code: "input"}).WithMessage("%s", err)
	}
	h := fnv.New32a()
	h.Write([]byte(node))
	h.Write(raw)
	n := h.Sum32()
	if typ == "flaky" && n%3 == 0 {
		f := Flaky
		return nil, &f
	}
	return map[string]any{"n": json.Number(fmt.Sprint(n % 5))}, nil
}

// Flaky is the failure of a flaky node.
var Flaky = *(&walk.Failure{Code: "flaky", Permanent: true, NoEffect: true}).WithMessage("this input does not work")

// Effects holds the side-effect classes of the scripted types.
var Effects = map[string]walk.Effect{"calc": walk.EffectPure, "call": walk.EffectIdempotent, "look": walk.EffectRead,
	"charge": walk.EffectUnsafe, "flaky": walk.EffectIdempotent}

// Registry returns the handlers of the scripted types, also as tools.
func Registry() *enginetest.Registry {
	r := enginetest.NewRegistry()
	for typ, effect := range Effects {
		h := func(_ context.Context, c *engine.Call) (engine.Result, error) {
			out, f := Result(c.Node.ID, typ, c.Input)
			if f != nil {
				return engine.Result{}, f
			}
			return engine.Result{Output: out}, nil
		}
		r.Handle(typ, effect, h).Tool(ToolPrefix+typ, effect, h)
	}
	return r
}

// ToolPrefix begins the names of scripted types when they are tools of steps.
const ToolPrefix = "do_"

// KindOf returns the scripted type of a node or step.
func KindOf(n *walk.ProgramNode) string {
	if n.Type == walk.TypeTool {
		return strings.TrimPrefix(n.Tool, ToolPrefix)
	}
	return n.TypeName
}

// Plans draws a graph or a step plan.
func Plans(t *rapid.T) string {
	if rapid.IntRange(0, 3).Draw(t, "kind") > 0 {
		return Graph(t)
	}
	return stepPlan(t)
}

// ask turns a node into an approval. The message determines the answer.
func ask(t *rapid.T, node map[string]any) string {
	node["type"], node["input"] = "approval", map[string]any{
		"message": rapid.SampledFrom([]string{"approve", "approve", "reject"}).Draw(t, "answer"),
	}
	if on := rapid.SampledFrom([]string{"", "continue"}).Draw(t, "on_reject"); on != "" {
		node["on_reject"] = on
	}
	return "approval"
}

// Answer returns the output of an answered approval.
func Answer(n *walk.ProgramNode, input any) (any, *walk.Failure) {
	m, _ := input.(map[string]any)
	out, f := n.AnswerOutput(AnswerOf(m["message"]), m["message"] == "approve", enginetest.Operator.Name, "", nil)
	if f != nil {
		return nil, f
	}
	return out, nil
}

// stepPlan draws steps that run in order, or with dependencies and conditions.
func stepPlan(t *rapid.T) string {
	var steps []any
	inOrder := rapid.Bool().Draw(t, "in order")
	count := rapid.IntRange(1, 6).Draw(t, "steps")
	handler := count > 1 && rapid.IntRange(0, 3).Draw(t, "handler") == 0
	for i := range count {
		s := map[string]any{"id": fmt.Sprintf("n%d", i), "order": i + 1,
			"tool": ToolPrefix + rapid.SampledFrom([]string{"calc", "call", "look", "charge", "flaky"}).Draw(t, "tool")}
		if rapid.IntRange(0, 7).Draw(t, "asks") == 0 {
			s["tool"] = ask(t, s)
			s["params"] = s["input"]
			delete(s, "type")
			delete(s, "input")
		}
		targets := []string{}
		if handler { // the last step, a target of rules
			targets = []string{fmt.Sprintf("n%d", count-1)}
		}
		if on := onError(t, targets); on != nil && (i+1 < count || !handler) {
			s["on_error"] = on
		}
		var of []any
		for j := range i {
			if !inOrder && (i+1 < count || !handler) && rapid.IntRange(0, 2).Draw(t, "dependency") == 0 {
				of = append(of, fmt.Sprintf("n%d", j))
			}
		}
		if of != nil {
			s["dependencies"] = of
		}
		if of != nil || inOrder && i > 0 && (i+1 < count || !handler) {
			if c := rapid.SampledFrom([]string{"", "", "failure", "always"}).Draw(t, "condition"); c != "" {
				s["condition"] = map[string]any{"type": c}
			}
		}
		steps = append(steps, s)
	}
	b, err := json.Marshal(map[string]any{"steps": steps})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// onError draws an action, or rules by code, some of which lead to a step.
func onError(t *rapid.T, targets []string) any {
	rules := func(to string) any {
		first := map[string]any{"code": rapid.SampledFrom([]any{"flaky", []any{"rejected", "flaky"}, "other"}).Draw(t, "code"), "to": to}
		return []any{first, map[string]any{"to": rapid.SampledFrom([]string{"fail", "continue"}).Draw(t, "else")}}
	}
	switch to := rapid.SampledFrom(append([]string{"", "", "continue", "skip", walk.EndName}, targets...)).Draw(t, "on_error"); {
	case to == "":
		return nil
	case to == "continue" || to == "skip":
		if rapid.Bool().Draw(t, "by code") {
			return rules(to)
		}
		return to
	default:
		return rules(to)
	}
}

// finally draws steps that run after all others. Some fail, and some depend on the outcome.
func finally(t *rapid.T) any {
	typ := func() string {
		return rapid.SampledFrom([]string{"set", "calc", "call", "charge", "flaky"}).Draw(t, "type of a finally step")
	}
	list := map[string]any{"f0": map[string]any{"type": typ(), "input": map[string]any{"status": "${last.status}", "x": "${status.n0}"}}}
	if rapid.Bool().Draw(t, "another") {
		list["f1"] = map[string]any{"type": typ(), "input": "${last.code ?? 1}", "when": "last.status!=completed"}
	}
	if rapid.Bool().Draw(t, "needs f0") {
		list["f2"] = map[string]any{"type": typ(), "needs": []any{"f0"}, "when": "always", "input": "${output.f0 ?? 2}"}
	}
	return list
}

// Graph draws a random plan: a graph with edges, branches, and bounded loops, or one with needs,
// joins, foreach, and failures.
func Graph(t *rapid.T) string {
	n := rapid.IntRange(1, 8).Draw(t, "nodes")
	types := []string{"set", "calc", "call", "look", "charge", "flaky", "noop", "decision"}
	nodes, edges := map[string]any{}, []any{}
	id := func(i int) string { return fmt.Sprintf("n%d", i) }
	byNeeds := rapid.Bool().Draw(t, "needs")
	for i := range n {
		typ := rapid.SampledFrom(types).Draw(t, "type")
		node := map[string]any{"type": typ}
		if rapid.IntRange(0, 7).Draw(t, "asks") == 0 {
			typ = ask(t, node)
		}
		if typ == "set" || typ == "call" && rapid.Bool().Draw(t, "input") {
			node["input"] = map[string]any{"from": id(i), "x": "${input.x}"}
		}
		if typ == "flaky" {
			targets := []string{}
			if !byNeeds && i+1 < n {
				targets = []string{id(n - 1)}
			}
			if on := onError(t, targets); on != nil {
				node["on_error"] = on
			}
		}
		if byNeeds {
			var needs []any
			for j := range i {
				if rapid.IntRange(0, 2).Draw(t, "need") == 0 {
					needs = append(needs, id(j))
				}
			}
			if len(needs) > 0 {
				node["needs"] = needs
				if when := rapid.SampledFrom([]string{"", "", "always", "failure"}).Draw(t, "when"); when != "" {
					node["when"] = when
				}
			}
			if (typ == "call" || typ == "calc" || typ == "flaky") && rapid.IntRange(0, 2).Draw(t, "fan") == 0 {
				node["foreach"], node["input"] = "${input.list}", map[string]any{"item": "${item}"}
				node["max_parallel"] = rapid.IntRange(1, 3).Draw(t, "parallel")
			}
		} else {
			if i+1 < n {
				if rapid.Bool().Draw(t, "branch") {
					to := rapid.IntRange(i+1, n-1).Draw(t, "to")
					value := rapid.IntRange(0, 4).Draw(t, "value")
					edges = append(edges, map[string]any{"from": id(i), "to": id(to), "condition": fmt.Sprintf("last.n==%d", value)})
				}
				if rapid.IntRange(0, 7).Draw(t, "end") == 0 {
					edges = append(edges, map[string]any{"from": id(i), "to": walk.EndName, "condition": "last.n==2"})
				}
				if typ == "flaky" && rapid.Bool().Draw(t, "error edge") {
					edges = append(edges, map[string]any{"from": id(i), "to": id(n - 1), "condition": "failed"})
				}
				edges = append(edges, map[string]any{"from": id(i), "to": id(i + 1)})
			} else if i > 0 && rapid.Bool().Draw(t, "loop") {
				back := rapid.IntRange(0, i-1).Draw(t, "back")
				edges = append(edges, map[string]any{"from": id(i), "to": id(back), "condition": "last.n!=1"})
			}
			node["max_visits"] = 6
		}
		nodes[id(i)] = node
	}
	doc := map[string]any{"nodes": nodes, "strict": rapid.Bool().Draw(t, "strict")}
	if !byNeeds {
		doc["edges"], doc["start"] = edges, "n0"
	}
	if rapid.IntRange(0, 3).Draw(t, "finally") == 0 {
		doc["finally"] = finally(t)
	}
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// AnswerOf returns the id of the answer to an approval with this message.
func AnswerOf(message any) string {
	if message == "approve" {
		return "approve"
	}
	return "reject"
}
