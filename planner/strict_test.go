package planner_test

import (
	"testing"

	"github.com/kairosd/kairosd/planner"
)

// A run fails where no edge matches. The document can say otherwise, and documents that were stored earlier,
// or that an executor runs, keep their meaning.
func TestStrict(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		strict  string
		options []planner.ParseOption
		want    bool
	}{
		"by default":       {want: true},
		"stated":           {strict: "strict: true\n", options: []planner.ParseOption{planner.WithSemantics(1)}, want: true},
		"not":              {strict: "strict: false\n"},
		"null":             {strict: "strict: null\n", want: true},
		"a stored version": {options: []planner.ParseOption{planner.WithSemantics(1)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, problems := planner.Parse([]byte(tt.strict+"nodes: {a: {type: noop}}\n"), tt.options...)
			if d == nil {
				t.Fatal(problems)
			}
			p, err := d.Program(nil)
			if err != nil || p.Strict != tt.want {
				t.Errorf("got %v, %v", p.Strict, err)
			}
			p, err = d.Graph.Compile(nil)
			if stated := tt.strict == "strict: true\n"; err != nil || p.Strict != stated {
				t.Errorf("in an executor: got %v, %v", p.Strict, err)
			}
		})
	}
}
