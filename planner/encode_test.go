package planner_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/kairosd/kairosd/planner"
)

// roundTrip encodes a document in both formats and parses the result. Nothing is lost, and encoding
// again returns the same text.
func roundTrip(t *testing.T, d *planner.Document) {
	t.Helper()
	if msg := compareRoundTrip(d); msg != "" {
		t.Error(msg)
	}
}

func compareRoundTrip(d *planner.Document) string {
	ignore := cmp.Options{cmpopts.IgnoreUnexported(planner.Graph{}, planner.StepPlan{}), cmpopts.EquateEmpty()}
	for _, f := range []planner.Format{planner.FormatYAML, planner.FormatJSON} {
		text, err := d.Encode(f)
		if err != nil {
			return fmt.Sprintf("encode as %s: %v", f, err)
		}
		back, problems := planner.Parse(text, planner.WithFormat(f))
		if back == nil {
			return fmt.Sprintf("%s is not read back: %v\n%s", f, problems, text)
		}
		id := func(d *planner.Document) *planner.Document {
			// A derived ID depends on the text that was written.
			if strings.HasPrefix(d.ID, "anon-") {
				c := *d
				if c.Graph != nil {
					g := *c.Graph
					g.ID, c.Graph = "", &g
				} else {
					s := *c.Steps
					s.ID, c.Steps = "", &s
				}
				return &c
			}
			return d
		}
		if diff := cmp.Diff(id(d).Graph, id(back).Graph, ignore); diff != "" {
			return fmt.Sprintf("%s changes the graph (-before +after):\n%s\n%q", f, diff, text)
		}
		if diff := cmp.Diff(id(d).Steps, id(back).Steps, ignore); diff != "" {
			return fmt.Sprintf("%s changes the steps (-before +after):\n%s\n%q", f, diff, text)
		}
		again, err := back.Encode(f)
		if err != nil || string(again) != string(text) {
			return fmt.Sprintf("%s is not stable: %v\n%s", f, err, cmp.Diff(string(text), string(again)))
		}
	}
	return ""
}
