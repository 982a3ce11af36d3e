package jsonschema_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/planner/jsonschema"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

func decode(t *testing.T, src string) any {
	t.Helper()
	v, err := jsonvalue.Decode([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Validation reports all mismatches of a value, and each message shows what to change.
func TestSchemaValidate(t *testing.T) {
	t.Parallel()
	s, err := jsonschema.Parse(decode(t, `{"type": "object", "required": ["name", "age"], "additionalProperties": false, "properties": {
		"name": {"type": "string", "minLength": 2}, "age": {"type": "integer", "minimum": 0}, "kind": {"enum": ["a", "b"]}, "id": {"const": 7},
		"code": {"pattern": "^[A-Z]+$"}, "at": {"type": "string", "format": "date-time"}, "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ value, want string }{
		{`{"name": "ana", "age": 3}`, ""},
		{`{"name": "ana", "age": 3.0, "at": "2030-01-01T00:00:00Z", "tags": ["x"]}`, ""},
		{`{}`, `"name", "age" is required`},
		{`[]`, "must be object, not array"},
		{`{"name": "a", "age": -1, "kind": "c", "id": 8, "code": "x", "at": "soon", "tags": [1, "b", "c"], "other": 1}`,
			`unknown key "other"|age: minimum: got -1, want 0|at: "soon" is not a valid date-time|code: "x" does not match ` +
				`the pattern "^[A-Z]+$"|id: must be "7"|kind: must be one of "a", "b"|name: minLength: got 1, want 2|tags: ` +
				`maxItems: got 3, want 2|tags.0: must be string, not number`},
		{`{"name": "ana", "age": 1e999999999}`, "age: the number is out of range"},
	} {
		var got []string
		for _, p := range s.Validate(decode(t, c.value)) {
			got = append(got, p.String())
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.value, strings.Join(got, "|"), c.want)
		}
	}
}

// P42: invalid schemas are rejected. Parsing fetches nothing and does not hang.
func TestInvalidSchemasAreRejected(t *testing.T) {
	t.Parallel()
	large := `{"properties": {` + strings.TrimSuffix(strings.Repeat(`"a%d": {"type": "string"},`, 3000), ",") + "}}"
	for i := range 3000 {
		large = strings.Replace(large, "%d", fmt.Sprint(i), 1)
	}
	for name, src := range map[string]string{
		"not an object":     `"text"`,
		"unknown type":      `{"type": "objekt"}`,
		"remote $ref":       `{"$ref": "https://example.com/schema.json"}`,
		"file $ref":         `{"$ref": "file:///etc/passwd"}`,
		"remote $schema":    `{"$schema": "https://example.com/meta"}`,
		"$ref to nothing":   `{"$ref": "#/$defs/none"}`,
		"$ref to itself":    `{"$ref": "#"}`,
		"$ref in a circle":  `{"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"}`,
		"no RE2":            `{"pattern": "(?=a)"}`,
		"an extreme number": `{"maximum": 1e999999999}`,
		"very large":        large,
	} {
		if _, err := jsonschema.Parse(decode(t, src)); err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), "schema://") {
			t.Errorf("%s: %v speaks of a document that nobody wrote", name, err)
		}
	}
	tree := `{"$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, ` +
		`"additionalProperties": false}}, "$ref": "#/$defs/node"}`
	s, err := jsonschema.Parse(decode(t, tree))
	if err != nil {
		t.Fatalf("a recursive schema that consumes its value: %v", err)
	}
	if ps := s.Validate(decode(t, `{"next": {"next": {"nxt": 1}}}`)); len(ps) != 1 || ps[0].String() != `next.next: unknown key "nxt"` {
		t.Errorf("got %v", ps)
	}
	re, err := jsonschema.Parse(decode(t, `{"pattern": "^(a+)+$"}`))
	if err != nil {
		t.Fatal(err)
	}
	if ps := re.Validate(strings.Repeat("a", 50_000) + "!"); len(ps) != 1 { // a pattern that backtracks would take years
		t.Errorf("got %v", ps)
	}
}

// A schema that refers to one part in several ways could take time that doubles with each level of
// the value. Such a schema is rejected, and ordinary schemas are not.
func TestSchemaCost(t *testing.T) {
	t.Parallel()
	compile := func(src string) *jsonschema.Schema {
		s, err := jsonschema.Parse(decode(t, src))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	nested := func(depth int) any { return decode(t, strings.Repeat("[", depth)+strings.Repeat("]", depth)) }
	doubling := compile(`{"allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}`)
	list := compile(
		`{"$defs": {"node": {"type": "object", "properties": {"left": {"$ref": "#/$defs/node"}, "right": {"$ref": ` +
			`"#/$defs/node"}}}}, "$ref": "#/$defs/node"}`,
	)
	deep := any(map[string]any{})
	for range 500 {
		deep = map[string]any{"left": deep, "right": map[string]any{}}
	}
	many := make([]any, 50_000)
	for i := range many {
		many[i] = "x"
	}
	for name, c := range map[string]struct {
		s    *jsonschema.Schema
		v    any
		fits bool
	}{
		"doubling, flat": {doubling, nested(8), true}, "doubling, deep": {doubling, nested(60), false},
		"doubling, very deep": {doubling, nested(900), false},
		"tree":                {list, deep, true},
		"long list":           {compile(`{"items": {"type": "string"}}`), many, true},
	} {
		if ps := c.s.Validate(c.v); (len(ps) == 0) != c.fits {
			t.Errorf("%s: got %v, want it to fit: %v", name, ps, c.fits)
		}
	}
}

// FuzzSchema checks that no schema and no value makes the validation panic or hang.
func FuzzSchema(f *testing.F) {
	f.Add(
		[]byte(`{"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"type": "array", "items": {"$ref": "#"}}}}`),
		[]byte(`{"a": [{}]}`),
	)
	f.Add([]byte(`{"$dynamicAnchor": "x", "allOf": [{"$dynamicRef": "#x"}]}`), []byte(`1`))
	f.Add(
		[]byte(
			`{"$id": "a/b", "$anchor": "c", "if": {"const": 1.0}, "then": false, "unevaluatedProperties": false, "format": `+
				`"uri", "multipleOf": 0.1}`,
		),
		[]byte(`1e5`),
	)
	f.Add(
		[]byte(
			`{"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": ["b"]}, "items": [true], `+
				`"additionalItems": false}`,
		),
		[]byte(`[1, 2]`),
	)
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		v, err := jsonvalue.Decode(schema)
		if err != nil {
			return
		}
		s, err := jsonschema.Parse(v)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without words")
			}
			return
		}
		if v, err = jsonvalue.Decode(value); err != nil {
			return
		}
		for _, p := range s.Validate(v) {
			if p.Message == "" || strings.Contains(p.Message, "cannot be read") {
				t.Fatalf("bad problem %+v", p)
			}
		}
	})
}

// A schema of 2 KB that doubles with each reference is rejected when it is compiled. If the time
// doubles with each level of a value, validation ends with an error, also when the context ends.
func TestSchemasThatDouble(t *testing.T) {
	t.Parallel()
	doubling := func(levels int, apply func(ref map[string]any) map[string]any) map[string]any {
		defs := map[string]any{"d0": map[string]any{"type": "object"}}
		for i := 1; i <= levels; i++ {
			defs[fmt.Sprint("d", i)] = apply(map[string]any{"$ref": fmt.Sprint("#/$defs/d", i-1)})
		}
		return map[string]any{"$defs": defs, "$ref": fmt.Sprint("#/$defs/d", levels)}
	}
	_, err := jsonschema.Parse(doubling(30, func(ref map[string]any) map[string]any { return map[string]any{"allOf": []any{ref, ref}} }))
	if err == nil || !strings.Contains(err.Error(), "would apply one part more than") {
		t.Errorf("got %v, want a schema that is refused", err)
	}
	deep, err := jsonschema.Parse(doubling(30, func(ref map[string]any) map[string]any {
		return map[string]any{"properties": map[string]any{"a": map[string]any{"allOf": []any{ref, ref}}}}
	}))
	if err != nil {
		t.Fatal(err)
	}
	var v any = map[string]any{}
	for range 30 {
		v = map[string]any{"a": v}
	}
	if problems := deep.Validate(v); len(problems) != 1 || !strings.Contains(problems[0].Message, "too many steps") {
		t.Errorf("got %v, want a value that is too large", problems)
	}
	pattern, err := jsonschema.Parse(map[string]any{"items": map[string]any{"pattern": strings.Repeat("(a?){90}", 10) + "b"}})
	if err != nil {
		t.Fatal(err)
	}
	if problems := pattern.Validate([]any{strings.Repeat("a", 1<<20)}); len(problems) != 1 ||
		!strings.Contains(problems[0].Message, "too many steps") {
		t.Errorf("got %v, want a text that is too long for its pattern", problems)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if problems := pattern.ValidateContext(ctx, []any{"b"}); len(problems) != 1 || problems[0].Message != context.Canceled.Error() {
		t.Errorf("after a cancel: %v", problems)
	}
}
