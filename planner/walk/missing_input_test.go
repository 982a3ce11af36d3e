package walk_test

import (
	"testing"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

func TestMissingInput(t *testing.T) {
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
		got, err := jsonvalue.Encode(p.MissingInput())
		if err != nil || string(got) != want {
			t.Errorf("%s: %s %v, want %s", schema, got, err, want)
		}
	}
}
