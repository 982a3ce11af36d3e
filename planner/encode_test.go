package planner_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/kairosd/kairosd/planner"
)

// roundTrip writes a document in both formats and reads it back: nothing is
// lost, and what is read back is written the same again.
func roundTrip(t *testing.T, d *planner.Document) {
	t.Helper()
	for _, f := range []planner.Format{planner.FormatYAML, planner.FormatJSON} {
		text, err := d.Encode(f)
		if err != nil {
			t.Errorf("encode as %s: %v", f, err)
			continue
		}
		back, problems := planner.Parse(text, f)
		if back == nil {
			t.Errorf("%s is not read back: %v\n%s", f, problems, text)
			continue
		}
		ignore := cmp.Options{cmpopts.IgnoreUnexported(planner.Graph{}, planner.StepPlan{}), cmpopts.EquateEmpty()}
		if diff := cmp.Diff(d.Graph, back.Graph, ignore); diff != "" {
			t.Errorf("%s changes the graph (-before +after):\n%s\n%s", f, diff, text)
		}
		if diff := cmp.Diff(d.Steps, back.Steps, ignore); diff != "" {
			t.Errorf("%s changes the steps (-before +after):\n%s\n%s", f, diff, text)
		}
		again, err := back.Encode(f)
		if err != nil || string(again) != string(text) {
			t.Errorf("%s is not stable: %v\n%s", f, err, cmp.Diff(string(text), string(again)))
		}
	}
}
