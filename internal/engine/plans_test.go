package engine_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/kairos"
)

// Archiving twice is a conflict that says how the plan stands.
func TestArchivingTwiceIsAConflict(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	v := e.Save("id: kept\nnodes: {a: {type: noop}}")
	for _, step := range []struct {
		archived bool
		refused  string
	}{{false, "is not archived"}, {true, ""}, {true, "is archived already"}, {false, ""}} {
		err := e.ArchivePlan(t.Context(), enginetest.Operator, v.PlanID, step.archived, "test")
		switch {
		case step.refused == "" && err != nil:
			t.Fatalf("archived %v: %v", step.archived, err)
		case step.refused != "" && (kairos.CodeOf(err) != kairos.CodeConflict || !strings.Contains(err.Error(), step.refused)):
			t.Fatalf("archived %v: got %v, want a conflict: %s", step.archived, err, step.refused)
		}
	}
}
