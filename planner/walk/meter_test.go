package walk_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// nested returns an expression that applies a step over x to a value, again and again.
func nested(levels int, x, step string) string {
	return "[" + x + "]" + strings.Repeat(".map(x, "+step+")", levels)
}

// doubled compares two values that share their parts. They are small in memory, but a reader meets
// 2^25 elements.
var doubled = nested(25, "[1, 2]", "[x, x]") + " == " + nested(25, "[1, 2]", "[x, x]")

// expensive holds short expressions that are expensive to evaluate.
var expensive = map[string]string{
	"a comparison of nested lists":    doubled,
	"an inequality of nested lists":   strings.Replace(doubled, "==", "!=", 1),
	"a search in nested lists":        nested(25, "[1, 2]", "[x, x]") + " in [" + nested(25, "[1, 2]", "[x, x]") + "]",
	"a comparison of nested maps":     nested(20, "{'a': 1}", "{'a': x, 'b': x}") + " == " + nested(20, "{'a': 1}", "{'a': x, 'b': x}"),
	"texts that double":               nested(30, "'0123456789'", "x + x") + " == ['']",
	"lists that double":               nested(30, "[0]", "x + x") + " == [[]]",
	"a regular expression that grows": `'` + strings.Repeat("a", 1500) + `'.matches('` + strings.Repeat("(a?){90}", 10) + `'+'b')`,
	"loops without a call":            "last.exists_one(a, last.exists_one(b, last.exists_one(c, last.exists_one(d, false))))",
	"a key that is printed":           "{'a': 1}[dyn(" + nested(25, "[1]", "[x, x]") + ")] == 1",
}

func TestExpensiveConditionsEnd(t *testing.T) {
	t.Parallel()
	list := make([]any, 300)
	for i := range list {
		list[i] = "x"
	}
	for name, text := range expensive {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := walk.ParseCondition("expr: " + text)
			if err != nil {
				t.Fatal(err)
			}
			_, ev, f := c.Evaluate(walk.Env{Last: list, Index: -1})
			if f == nil || f.Code != walk.CodeCondition || !f.Permanent || !strings.Contains(f.Message, "cost limit") ||
				ev.Result != "error" {
				t.Errorf("got %+v, %+v; want a failure that names the cost limit", ev, f)
			}
		})
	}
}

func TestExpensiveComputationsEnd(t *testing.T) { // not parallel, because it counts allocations of the process
	text := strings.Repeat("a", 100_000)
	value := map[string]any{"text": text, "texts": []any{text, text, text, text, text, text, text, text, text, text}}
	cases := map[string]string{
		// 132 characters that request 8^7 copies.
		"a value that shares one part": nested(7, "value", "[x, x, x, x, x, x, x, x]"),
		"maps that share one part":     nested(12, "value", "{'a': x, 'b': x, 'c': x, 'd': x}"),
		"sets":                         "sets.equivalent([" + nested(25, "[1]", "[x, x]") + "], [" + nested(25, "[1]", "[x, x]") + "])",
		"replace everywhere":           "value.text.replace('a', value.text)",
		"replace nothing":              "value.text.replace('', value.text)",
		"join":                         "[value.texts.join(value.text)].map(x, [x, x, x, x, x, x, x, x].join(x))",
		"split": "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]" +
			".map(i, [1, 2, 3, 4, 5, 6, 7, 8].map(j, value.text.split('')))",
		"format":                      "'%s%s%s%s'.format(" + nested(9, "value", "[x, x, x, x]") + ")",
		"a naive search":              "(value.text + value.text).indexOf(value.text + 'b')",
		"a naive search from the end": "(value.text + value.text).lastIndexOf('b' + value.text)",
		"a pattern from the value":    "['(a?){200}'].map(p, p + p + p + p + p + p + p + p).exists(p, value.text.matches(p + 'b'))",
		"optional values": "[optional.of(" + nested(
			25,
			"[1]",
			"[x, x]",
		) + ")] == [optional.of(" + nested(
			25,
			"[1]",
			"[x, x]",
		) + ")]",
		"an entry that is not optional": "{?'a': dyn(" + nested(25, "[1]", "[x, x]") + ")}",
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := walk.ParseComputation(text, "value")
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := c.Evaluate(t.Context(), map[string]any{"value": value})
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), "cost limit") {
				t.Errorf("got %.100s, %v; want the cost limit", jsonvalue.Text(got), err)
			}
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 512 {
				t.Errorf("used %d MiB", used)
			}
		})
	}
}

// An evaluation ends when its context ends, whatever the expression does.
func TestComputationsHonorTheContext(t *testing.T) {
	t.Parallel()
	for _, text := range []string{doubled, "value.exists_one(a, value.exists_one(b, value.exists_one(c, false)))",
		"value.filter(a, value.filter(b, false) == [1]) == []"} {
		c, err := walk.ParseComputation(text, "value")
		if err != nil {
			t.Fatal(err)
		}
		list := make([]any, 1000)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Evaluate(ctx, map[string]any{"value": list}); !errors.Is(err, context.Canceled) {
			t.Errorf("%.40s: got %v", text, err)
		}
	}
}

// The cost of all conditions of one decision is limited.
func TestManyExpensiveConditionsEnd(t *testing.T) {
	t.Parallel()
	g := &planner.Graph{Nodes: map[string]planner.Node{"a": {Type: "work"}, "z": {Type: "work"}}}
	// Each condition is within its own limit.
	cheap := "expr: input.all(a, input.all(b, input[0] == ''))"
	for range 1000 {
		g.Edges = append(g.Edges, planner.Edge{From: "a", To: "z", Condition: "expr: !(" + strings.TrimPrefix(cheap, "expr: ") + ")"})
	}
	list := make([]any, 60)
	for i := range list {
		list[i] = ""
	}
	w := walk.New(compiled(t, g), walk.Facts{Input: list})
	d, err := w.Settle(walk.Settlement{VisitKey: w.Ready()[0], Item: -1, Status: walk.Completed, Output: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if d.Failure == nil || d.Failure.Code != walk.CodeCondition || len(d.Evaluated) < 5 || len(d.Evaluated) > 900 {
		t.Errorf("got %d evaluated and %+v; want the decision to end at its cost limit", len(d.Evaluated), d.Failure)
	}
}
