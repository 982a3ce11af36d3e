package tool_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/tool"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	set := builtin(t, tool.Config{}, nil)
	const value = `"value": {"items": [{"n": "a", "price": 5}, {"n": "b", "price": 12.5}, {"n": "c", "price": 20}], "id": ` +
		`12345678901234567890}`
	for args, want := range map[string]string{
		`"path": "$.items[0].n"`:                                         `a`,
		`"path": "$.id"`:                                                 `12345678901234567890`,
		`"path": "$.items[-1].price"`:                                    `20`,
		`"path": "$.items[*].n"`:                                         `["a","b","c"]`,
		`"path": "$.items[?@.price > 10].n"`:                             `["b","c"]`,
		`"path": "$.nothing[*]"`:                                         `[]`,
		`"path": "$.nothing", "default": null`:                           `null`,
		`"expression": "value.items.map(i, i.price * 2)"`:                `[10,25,40]`,
		`"expression": "value.items.filter(i, i.price > 10).size() + 1"`: `3`,
		`"expression": "{'total': value.items[0].price + value.items[2].price, 'ids': [1, 2]}"`: `{"ids":[1,2],"total":25}`,
		`"expression": "value.items.map(i, i.n)"`:                                               `["a","b","c"]`,
		`"expression": "'x'.upperAscii() + string(1.0)"`:                                        `X1`,
		`"path": "$.items[*].price", "expression": "value[1] / 2"`:                              `6.25`,
		`"expression": "value.?missing.orValue(7)"`:                                             `7`,
	} {
		got, f := call(t, set, "json", "{"+value+", "+args+"}")
		if f != nil || got != want {
			t.Errorf("%s: got %s (%v), want %s", args, got, f, want)
		}
	}
	if got, f := call(t, set, "json", `{"text": "[1, {\"a\": [true]}]", "path": "$[1].a[0]"}`); f != nil || got != "true" {
		t.Errorf("text: %s, %v", got, f)
	}
	for args, want := range map[string]string{
		`{"path": "$"}`: "exactly one of", `{"value": 1, "text": "1"}`: "exactly one of", `{"text": "{"}`: "not JSON",
		`{"value": 1, "path": "a.b"}`: "must begin with $", `{"value": 1, "path": "$.a"}`: "not found",
		`{"value": 1, "expression": "value +"}`: "unexpected end", `{"value": 1, "expression": "other"}`: "unknown name",
		`{"value": {}, "expression": "value.a"}`: "no such key", `{"value": 1, "expression": "value / 'a'"}`: "no matching overload",
		`{"value": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,` +
			`38,39,40,41,42,43,44,45,46,47,48,49,50], "expression": "value.all(a, value.all(b, value.all(c, value.all(d, ` +
			`value.all(e, a+b+c+d+e > 0)))))"}`: "cost",
		`{"value": 1, "expression": "` + strings.Repeat("(", 100) + `"}`: "nested deeper",
	} {
		refuses(t, set, "json", args, want)
	}
}
