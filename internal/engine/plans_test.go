package engine_test

import (
	"fmt"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// G9: a run keeps the version that it began with, whatever happens to its plan, also across a
// restart.
func TestARunKeepsItsPlan(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	src := func(n int) string {
		return fmt.Sprintf(
			"id: kept\nnodes:\n  a: {type: approval, input: {message: \"go on?\"}}\n  b: {type: set, input: %d}\nedges: [{from: a, to: b}]",
			n,
		)
	}
	e := enginetest.OpenOn(t, s, enginetest.NewRegistry(), engine.Options{})
	first := e.Save(src(1))
	run := e.Begin(first, "")
	e.Until(run.ID, domain.RunWaiting, domain.WaitApproval)
	if second := e.Save(src(2)); second.Number != 2 {
		t.Fatalf("version %d", second.Number)
	}
	storetest.Archive(t, e.Store, first.PlanID, true)
	e.Close()
	e = enginetest.OpenOn(t, s, enginetest.NewRegistry(), engine.Options{})
	d, err := e.Detail(t.Context(), run.ID)
	if err != nil || len(d.Waits) != 1 {
		t.Fatalf("%+v %v", d.Waits, err)
	}
	if _, err := e.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: d.Waits[0].Approval,
		Approve: true}); err != nil {
		t.Fatal(err)
	}
	if r := e.Settle(run.ID); r.Status != domain.RunCompleted || string(r.Output) != "1" || r.Version != 1 || r.Hash != first.Hash {
		t.Errorf("a run of version 1 is %s at version %d with %s", r.Status, r.Version, r.Output)
	}
}

// A40: A run of an archived plan is resumed and rerun with its version. A new run of the plan is
// refused.
func TestARunContinuesAfterItsPlanIsArchived(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	run := e.Run("id: gone\nnodes: {a: {type: set, input: 1}}", "null")
	v, err := e.Store.VersionByHash(t.Context(), run.Hash)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Archive(t, e.Store, v.PlanID, true)
	if _, err := e.Start(t.Context(), enginetest.Operator, domain.StartRequest{Plan: "gone"}); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("a new run: %v", err)
	}
	again, err := e.Do(run.ID, domain.ActionRerun)
	if err != nil {
		t.Fatal(err)
	}
	if again = e.Settle(again.ID); again.Status != domain.RunCompleted || again.Hash != run.Hash || string(again.Output) != "1" {
		t.Errorf("%+v", again)
	}
}
