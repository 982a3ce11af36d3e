package walk_test

import (
	"testing"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// A run's input gets the defaults of the plan's schema; what was given stays.
func TestInputDefaults(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		"{type: object}": `{}`,
		"{type: object, required: [a], properties: {a: {type: number}}}":                                      `{}`,
		"{type: object, properties: {a: {type: number, default: 3}, b: {type: string}}}":                      `{"a":3}`,
		"{type: object, properties: {o: {type: object, properties: {x: {default: [1]}}}, p: {type: object}}}": `{"o":{"x":[1]}}`,
		"{type: object, properties: {o: {type: object, default: {y: 1}, properties: {x: {default: 1}}}}}":     `{"o":{"y":1}}`,
		"{type: string, default: a}":                              `null`,
		"{type: [object, 'null'], properties: {a: {default: 1}}}": `null`,
	} {
		d, problems := planner.Parse([]byte("id: p\ninput: "+schema+"\nnodes: {a: {type: noop}}\n"), planner.WithFormat(planner.FormatYAML))
		if d == nil {
			t.Fatalf("%s: %v", schema, problems)
		}
		p, err := d.Program(nil)
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		input, _ := p.CompleteInput(nil)
		got, err := jsonvalue.Encode(input)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s %v, want %s", schema, got, err, want)
		}
	}
}

func TestGivenInputGetsDefaults(t *testing.T) {
	t.Parallel()
	const schema = "{type: object, properties: {n: {default: 3}, o: {type: object, properties: {x: {default: 1}}}, t: {type: string}}}"
	d, problems := planner.Parse([]byte("id: p\ninput: " + schema + "\nnodes: {a: {type: noop}}\n"))
	if d == nil {
		t.Fatal(problems)
	}
	p, err := d.Program(nil)
	if err != nil {
		t.Fatal(err)
	}
	for input, want := range map[string]string{
		`{}`:                        `{"n":3,"o":{"x":1}}`,
		`{"n":null,"o":{"y":2}}`:    `{"n":null,"o":{"x":1,"y":2}}`,
		`{"n":1,"o":5}`:             `{"n":1,"o":5}`,
		`{"n":1,"o":{"x":2},"z":0}`: `{"n":1,"o":{"x":2},"z":0}`,
		`"text"`:                    `"text"`,
	} {
		given, err := jsonvalue.Decode([]byte(input))
		if err != nil {
			t.Fatal(err)
		}
		out, changed := p.CompleteInput(given)
		got, err := jsonvalue.Encode(out)
		before, _ := jsonvalue.Encode(given)
		if err != nil || string(got) != want || string(before) != input || changed != (input != want) {
			t.Errorf("%s: %s (changed: %t) %v, want %s; the input is now %s", input, got, changed, err, want, before)
		}
	}
}
