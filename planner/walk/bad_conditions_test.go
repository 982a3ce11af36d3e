package walk

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// C05, C09: arithmetic without a result and endless comparisons are defined. A condition is true,
// false, or an error within a limited time, and the process does not crash.
func TestConditionsWithoutAResult(t *testing.T) {
	t.Parallel()
	list := make([]any, 3000)
	for i := range list {
		list[i] = aNumber(int64(i))
	}
	long := strings.Repeat("a", 1<<20)
	outputs := map[string]any{
		"zero": aNumber(0),
		"list": list,
		"long": long,
		"same": strings.Repeat("a", 1<<20),
		"map":  nested(40),
		"big":  mustNumber(t, "1e308"),
	}
	s := &scope{
		input:   nil,
		last:    "ok",
		index:   -1,
		output:  func(n string) (any, bool) { v, ok := outputs[n]; return v, ok },
		outputs: func() map[string]any { return outputs },
	}
	for _, c := range []struct{ id, text, want string }{
		{"C05 a division by nothing", "expr: 1 / output.zero > 0", "true"}, // numbers are doubles, so the result is infinite
		{"C05 nothing by nothing", "expr: 0 / output.zero == 0 / output.zero", "false"},
		{"C05 overflow", "expr: output.big * output.big > output.big", "true"},
		{"C05 a remainder of nothing", "expr: int(1) % int(output.zero) == 0", "refused"},
		{"C05 a conversion that overflows", "expr: int(output.big) > 0", "error"},
		{"C05 a text that is no number", "expr: int('x') == 0", "refused"},
		{"C09 a megabyte, compared", "output.long!=b", "true"},
		{"C09 a megabyte with another", "expr: output.long == output.same", "error"},
		{"C09 a megabyte searched for", "expr: output.long.contains(output.same)", "error"},
		{"C09 a megabyte and a pattern", "expr: output.long.matches('(a+)+$')", "error"},
		{"C09 every pair of a list", "expr: output.list.all(x, output.list.all(y, output.list.all(z, x + y + z >= 0)))", "error"},
		{"C09 a text that doubles", "expr: (output.long" + strings.Repeat(" + output.long", 5) + ").size() > 0", "error"},
		{"C09 a deep map", "expr: output.map == output.map", "true"},
	} {
		cond, err := ParseCondition(c.text)
		if err != nil {
			if c.want != "refused" {
				t.Errorf("%s: %v", c.id, err)
			}
			continue
		}
		_, ev, _ := cond.evaluate(s)
		if ev.Result != c.want {
			t.Errorf("%s: got %s, want %s", c.id, ev.Result, c.want)
		}
		if len(ev.Saw) > 4096 {
			t.Errorf("%s: the decision keeps %d bytes of what it saw", c.id, len(ev.Saw))
		}
	}
}

func nested(depth int) any {
	if depth == 0 {
		return "end"
	}
	return map[string]any{"a": nested(depth - 1), "b": []any{aNumber(1)}}
}

func aNumber(n int64) any { v, _ := jsonvalue.Decode([]byte(jsonvalue.Text(n))); return v }

func mustNumber(t *testing.T, text string) any {
	t.Helper()
	v, err := jsonvalue.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// C11, C12: a template inserts data that is not evaluated again, whatever the data contains.
func TestTemplatesInsertData(t *testing.T) {
	t.Parallel()
	hostile := "${secret.KEY} ${input} {{ .Env }} $(id) \"; rm -rf / #\r\nHost: evil\u0000"
	outputs := map[string]any{"a": hostile, "b": map[string]any{"x": []any{hostile}}}
	s := &scope{
		input:   map[string]any{"n": "never shown"},
		last:    nil,
		index:   -1,
		output:  func(n string) (any, bool) { v, ok := outputs[n]; return v, ok },
		outputs: func() map[string]any { return outputs },
	}
	in := map[string]any{
		"whole":           "${output.a}",
		"part":            "<${output.a}>",
		"twice":           "${output.a}${output.a}",
		"list":            []any{"--name", "${output.a}"},
		"tree":            "${output.b}",
		"key ${output.a}": 1,
	}
	tmpl, err := ParseTemplate(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	v, f := tmpl.render(s)
	if f != nil {
		t.Fatal(f)
	}
	out := v.(map[string]any)
	list, _ := out["list"].([]any)
	if out["whole"] != hostile || out["part"] != "<"+hostile+">" || out["twice"] != hostile+hostile || len(list) != 2 ||
		list[1] != hostile {
		t.Errorf("C11: got %q", out)
	}
	if _, ok := out["key ${output.a}"]; !ok {
		t.Errorf("C11: a key was taken for a template: %q", out)
	}
	raw, err := jsonvalue.Encode(out)
	if err != nil {
		t.Fatal(err)
	}
	back, err := jsonvalue.Decode(raw)
	if err != nil || back.(map[string]any)["whole"] != hostile || strings.Contains(string(raw), "never shown") {
		t.Errorf("C12: as JSON it is %s, %v", raw, err)
	}
}
