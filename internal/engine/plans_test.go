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

// A40: a run whose plan was archived since is resumed and rerun from the version
// that it has; a new run of the plan is refused.
func TestARunOutlivesItsPlan(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	run := e.Run("id: gone\nnodes: {a: {type: set, input: 1}}", "null")
	v, err := e.Store.VersionByHash(t.Context(), run.Hash)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.ArchivePlan(t.Context(), enginetest.Operator, v.PlanID, true, "replaced"); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Start(t.Context(), enginetest.Operator, kairos.StartRequest{Plan: "gone"}); kairos.CodeOf(err) != kairos.CodeConflict {
		t.Errorf("a new run: %v", err)
	}
	again, err := e.Do(run.ID, kairos.ActionRerun)
	if err != nil {
		t.Fatal(err)
	}
	if again = e.Settle(again.ID); again.Status != kairos.RunCompleted || again.Hash != run.Hash || string(again.Output) != "1" {
		t.Errorf("%+v", again)
	}
}
