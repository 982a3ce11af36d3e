package walk

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/planner/jsonvalue"
)

func testScope() *scope {
	in, _ := jsonvalue.Decode([]byte(`{"n": 3, "name": "ana", "list": [1, 2, 3]}`))
	a, _ := jsonvalue.Decode([]byte(`{"n": 1.0, "big": 10000000, "ok": true, "text": "hello world", "b.c": {"x": 1}}`))
	outputs := map[string]any{"a": a, "step-1": map[string]any{"content": "hi"}, "nul": nil}
	return &scope{input: in, last: "ok", index: -1, output: func(n string) (any, bool) { v, ok := outputs[n]; return v, ok },
		outputs: func() map[string]any { return outputs }}
}

// C04: each form of a condition records the value that it read, or "not found". An operator on
// values of different types is an error. Values are never converted.
func TestConditions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", "fallback"}, {"default", "fallback"}, {" always ", "fallback"}, {"failed", "false"},
		{"last==ok", "true"}, {"last == ok", "true"}, {"last!=ok", "false"}, {"last == 'ok'", "true"}, {`last == "ok"`, "true"},
		{"last==OK", "false"}, {"last.contains:o", "true"}, {"last.contains:z", "false"},
		{"output.a.n==1", "true"}, {"output.a.n==1.0", "true"}, {"output.a.n==01", "false"}, {"output.a.big==10000000", "true"},
		{"output.a.big==1e7", "true"}, {"output.a.ok==true", "true"}, {"output.a.text.contains:lo wo", "true"},
		{`output.a."b.c".x==1`, "true"}, {"output.step-1.content==hi", "true"}, {"output.nul==null", "true"},
		{"output.a.none==1", "not found"}, {"output.a.none!=1", "not found"}, {"output.zz.contains:", "not found"},
		{"input.list.0==1", "true"}, {"input.list.9==1", "not found"}, {"input.list==[1,2,3]", "true"},
		{"last==a==b", "false"}, {"last==", "false"}, {"last=='a' and 'b'", "false"},
		{"expr: input.n > 2", "true"}, {"expr: input.n + 1 == 4", "true"}, {"expr: size(input.list) == 3", "true"},
		{"expr: size(input.list) + 1 == 4.0", "true"}, {"expr: input.list[0] == 1", "true"}, {"expr: input.list[1] == 2.0", "true"},
		{`expr: output["step-1"].content == "hi"`, "true"}, {"expr: output.a.n == 1 && last == 'ok'", "true"},
		{"expr: input.list.exists(x, x > 2)", "true"}, {"expr: input.name.startsWith('an')", "true"},
		{"expr: 'a' in output", "true"}, {"expr: has(output.a)", "true"}, {"expr: has(output.zz)", "false"},
		{"expr: output.none.x == 1", "error"}, {"expr: input.name > 2", "error"}, {"expr: input.n / 2 == 1.5", "true"},
		{"expr: int('7') + 1 == 8", "true"}, {"expr: input.list.all(a, input.list.all(b, a < b + 9))", "true"},
		{"expr: input.name", "error"}, {"expr: -input.n == -3", "true"},
	} {
		cond, err := ParseCondition(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		_, ev, _ := cond.evaluate(testScope())
		if ev.Result != c.want {
			t.Errorf("%q: got %s (saw %q), want %s", c.text, ev.Result, ev.Saw, c.want)
		}
	}
}

// C01–C13: malformed conditions are rejected with a position and advice.
func TestMalformedConditions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id, text   string
		column     int
		suggestion string
	}{
		{"C01", "expr: (1", 0, ""}, {"C01", "expr: 1 ==", 0, ""}, {"C01", "expr:", 6, ""},
		{"C02", "expr: " + strings.Repeat("(", 1_000_000), 1, ""},
		{"C02", "expr: " + strings.Repeat("(", 40) + strings.Repeat(")", 40), 39, ""},
		{"C03", "expr: " + strings.Repeat("!!(", 30) + "true" + strings.Repeat(")", 30) + strings.Repeat("!", 200), 0, ""},
		{"C04", "expr: 'a' < 1", 0, ""}, {"C06", "expr: system('ls')", 0, ""}, {"C06", "expr: lst == 1", 7, "did you mean last?"},
		{"C07", "expr: output.step-1.content == 'x'", 7, `write output["step-1"]`}, {"C08", "{{ last }}", 1, ""},
		{"C10", "expr: now() > 1", 0, ""}, {"C13", "last ＝＝ ok", 1, "plain characters"}, {"C13", "expr: last ≤ 3", 12, "plain characters"},
		{"", "lst==ok", 1, "did you mean last?"}, {"", "score < 0.8", 1, "expr: score < 0.8"}, {"", "defualt", 1, "did you mean default?"},
		{"", "secret.X==1", 1, "conditions compare"}, {"", "last = ok", 1, "write == for equality"}, {"", "output==1", 7, "output.<node>"},
		{"", "step-1==1", 1, "output.step-1"},
	} {
		_, err := ParseCondition(c.text)
		e, ok := err.(*SyntaxError)
		if !ok {
			t.Errorf("%s %.60q: got %v, want a syntax error", c.id, c.text, err)
			continue
		}
		if c.column != 0 && e.Column != c.column {
			t.Errorf("%s %.60q: column %d, want %d (%s)", c.id, c.text, e.Column, c.column, e.Message)
		}
		if !strings.Contains(e.Suggestion.String(), c.suggestion) {
			t.Errorf("%s %.60q: suggestion %q, want %q", c.id, c.text, e.Suggestion, c.suggestion)
		}
	}
}

func FuzzCondition(f *testing.F) {
	for _, s := range []string{"last==ok", "expr: input.n > 2", "output.a.b!=x", "failed", `output.a."b.c"==1`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := ParseCondition(text); err == nil {
			c.evaluate(testScope())
		}
	})
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{`"${input.n}"`, `3`}, {`"n=${input.n}"`, `"n=3"`}, {`"$${input}"`, `"${input}"`}, {`{"a":["${last}",1.50]}`, `{"a":["ok",1.50]}`},
		{`"${output.a.big}"`, `10000000`}, {`"${input.none ?? \"x\"}"`, `"x"`}, {`"${output.zz ?? null}"`, `null`},
		{`"${secret.KEY}"`, `"${secret.KEY}"`}, {`"${output.a.\"b.c\".x}"`, `1`}, {`"step-1.result.content"`, `"hi"`},
		{`"step-1.result"`, `{"content":"hi"}`}, {`"step-by-step"`, `"step-by-step"`}, {`"step-1.results"`, `"step-1.results"`},
		{`"${input.none}"`, `unresolved_reference`}, {`"${output.zz.a}"`, `unresolved_reference`}, {`"${item}"`, `unresolved_reference`},
	} {
		v, err := jsonvalue.Decode([]byte(c.in))
		if err != nil {
			t.Fatal(err)
		}
		tmpl, err := ParseTemplate(v, func(id string) bool { return id == "step-1" })
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		var got string
		if out, f := tmpl.render(testScope()); f != nil {
			got = f.Code
		} else {
			b, _ := jsonvalue.Encode(out)
			got = string(b)
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.in, got, c.want)
		}
	}
	for in, want := range map[string]string{
		"${output.a.none}":     `output.a has no field "none"; add a default: ${output.a.none ?? null}`,
		"${output.a.big.none}": "output.a.big is a number and has no fields; add a default: ${output.a.big.none ?? null}",
		"${output.zz.a}":       "step zz has no output here; add a default: ${output.zz.a ?? null}",
	} {
		tmpl, err := ParseTemplate(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, f := tmpl.render(testScope()); f == nil || f.Suggestion != want {
			t.Errorf("%s: got %+v, want the suggestion %q", in, f, want)
		}
	}
	for _, bad := range []string{"${", "${foo}", "${output}", "${input ?? }", "${last x}", "${secret.a.b}", "${run.name}", `${input."a}`} {
		if _, err := ParseTemplate(bad, nil); err == nil {
			t.Errorf("%s: accepted", bad)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add("${input.a} $${x} ${output.a.b ?? 1}")
	f.Fuzz(func(t *testing.T, text string) {
		if tmpl, err := ParseTemplate(text, func(id string) bool { return id == "step-1" }); err == nil {
			tmpl.render(testScope())
		}
	})
}
