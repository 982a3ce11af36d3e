package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
)

// A run whose journal was deleted by retention can be read, deleted, and rerun with an input.
// Actions that need the journal are refused.
func TestARunWithoutItsJournal(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	run := e.Run(
		`{nodes: {a: {type: set, input: "${input}"}, b: {type: set, input: "${output.a.x}"}}, edges: [{from: a, to: b}]}`,
		`{"y": 1}`,
	)
	e.Until(run.ID, domain.RunFailed, "")
	purged, err := e.Store.Retain(
		t.Context(),
		domain.Retention{Default: domain.RetentionRule{Failed: time.Nanosecond}},
		domain.System,
		false,
	)
	if err != nil || purged.Runs != 1 {
		t.Fatalf("retention: %+v, %v", purged, err)
	}
	d, err := e.Detail(t.Context(), run.ID)
	if err != nil || d.Run.Status != domain.RunFailed || d.Run.PurgedAt.IsZero() || len(d.Journal) != 0 {
		t.Errorf("detail: %+v, %v", d.Run, err)
	}
	for _, action := range []domain.Action{domain.ActionResume, domain.ActionFork, domain.ActionRerun} {
		if _, err := e.Do(run.ID, action); domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), "retention") {
			t.Errorf("%s: %v", action, err)
		}
		p, err := e.Preview(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: action})
		if err != nil || p.Allowed || !strings.Contains(p.Refusal.String(), "retention") {
			t.Errorf("preview of %s: %+v, %v", action, p, err)
		}
	}
	again, err := e.Act(
		t.Context(),
		enginetest.Operator,
		domain.ActionRequest{Run: run.ID, Action: domain.ActionRerun, Input: domain.RawJSON(`{"x": 2}`)},
	)
	if err != nil {
		t.Fatal(err)
	}
	if r := e.Until(again.ID, domain.RunCompleted, ""); string(r.Output) != "2" {
		t.Errorf("the new run: %s", r.Output)
	}
	if r, err := e.Do(run.ID, domain.ActionDelete); err != nil || r.DeletedAt.IsZero() {
		t.Errorf("delete: %+v, %v", r.DeletedAt, err)
	}
}
