package walk_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

func TestComputations(t *testing.T) {
	t.Parallel()
	value, err := jsonvalue.Decode([]byte(`{"items": [{"n": "a", "price": 5}, {"n": "b", "price": 12.5}], "none": null}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`value.items.map(i, i.price + 1)`:                      `[6,13.5]`,
		`value.items.filter(i, i.price > 10).map(i, i.n)`:      `["b"]`,
		`{'sum': value.items[0].price + value.items[1].price}`: `{"sum":17.5}`,
		`value.items.size() + 1`:                               `3`,
		`value.none`:                                           `null`,
		`value.items.exists(i, i.n == 'a') ? 'yes' : 'no'`:     `yes`,
		`{1: 'one'}`:                 `{"1":"one"}`,
		`'a,b'.split(',')`:           `["a","b"]`,
		`value.?missing.orValue([])`: `[]`,
		`math.greatest(1, 2.5)`:      `2.5`,
	} {
		c, err := walk.ParseComputation(text, "value")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := c.Evaluate(t.Context(), map[string]any{"value": value})
		if err != nil || jsonvalue.Text(got) != want {
			t.Errorf("%s: got %s (%v), want %s", text, jsonvalue.Text(got), err, want)
		}
	}
	for text, want := range map[string]string{
		"": "empty", "value +": "", "other": "unknown name", strings.Repeat("(", 99): "nested deeper",
		strings.Repeat("a", 5000): "at most 4096",
	} {
		_, err := walk.ParseComputation(text, "value")
		if _, ok := errors.AsType[*walk.SyntaxError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30s: got %v, want a syntax error with %q", text, err, want)
		}
	}
	for text, want := range map[string]string{"value.missing": "no such key", "1 / 0": "",
		"timestamp('2026-01-01T00:00:00Z')": "no JSON form", "b'ab'": "no JSON form", "value": ""} {
		c, err := walk.ParseComputation(text, "value")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := c.Evaluate(t.Context(), map[string]any{"value": value})
		if (err == nil) != (text == "value") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %s, %v; want %q", text, jsonvalue.Text(got), err, want)
		}
	}
	c, err := walk.ParseComputation("value.all(a, value.all(b, value.all(c, a + b + c > 0)))", "value")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	many := make([]any, 300)
	for i := range many {
		many[i], _ = jsonvalue.Normalize(i + 1)
	}
	if _, err := c.Evaluate(ctx, map[string]any{"value": many}); !errors.Is(err, context.Canceled) {
		t.Errorf("after a cancel: %v", err)
	}
	if testing.Short() {
		return
	}
	// On a slow machine, the time limit is reached first.
	if _, err := c.Evaluate(t.Context(), map[string]any{"value": many}); err == nil ||
		!strings.Contains(err.Error(), "cost") && !strings.Contains(err.Error(), "took longer") {
		t.Errorf("27 million steps: %v", err)
	}
}

func FuzzComputation(f *testing.F) {
	for _, s := range []string{"value", "value.map(x, x)", "{'a': [1, 2.5, b'x']}", "value.?a.b", "'%s'.format([value])",
		"math.bitAnd(1, 2)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := walk.ParseComputation(s, "value")
		if err != nil {
			return
		}
		v, err := c.Evaluate(t.Context(), map[string]any{"value": map[string]any{"a": []any{nil, true, "x"}}})
		if err == nil {
			if _, err := jsonvalue.Encode(v); err != nil {
				t.Fatalf("%s gave what JSON cannot hold: %v", s, err)
			}
		}
	})
}
