package planner_test

import (
	"testing"

	"github.com/kairosd/kairosd/planner"
)

func TestExposedPlans(t *testing.T) {
	t.Parallel()
	doc, problems := planner.Parse([]byte("id: refund\nexpose: [mcp]\nnodes: {a: {type: noop}}"))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	program, err := doc.Program(nil)
	if err != nil || len(program.Start.Expose) != 1 || program.Start.Expose[0] != "mcp" {
		t.Errorf("got %v, %v", program, err)
	}
	if again, _ := planner.Parse(doc.Canonical()); again == nil || again.Hash != doc.Hash {
		t.Errorf("the canonical form is another plan: %s", doc.Canonical())
	}
	plain, _ := planner.Parse([]byte("id: refund\nnodes: {a: {type: noop}}"))
	if plain.Hash == doc.Hash {
		t.Error("expose is not part of the version")
	}
}
