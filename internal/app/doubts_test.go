package app_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// startOf returns the start of the attempt in the journal of a run.
func startOf(t *testing.T, w *apptest.World, run string) time.Time {
	t.Helper()
	facts, err := w.Runs.Get(t.Context(), apptest.Viewer, run)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range facts.Journal {
		if e.Attempt == 1 && !e.StartedAt.IsZero() {
			return e.StartedAt
		}
	}
	t.Fatal("no attempt has a start")
	return time.Time{}
}

// Attempts in doubt are listed with everything that a resolution requires, by plan, step, and run.
// A resolved one leaves the list.
func TestDoubtsAreListed(t *testing.T) {
	t.Parallel()
	reg := enginetest.NewRegistry().Handle("pay", walk.EffectUnsafe, func(context.Context, *engine.Call) (engine.Result, error) {
		return engine.Result{}, errors.New("the connection was lost")
	})
	w := apptest.With(t, storetest.Open(t), reg)
	first := w.Engine.Run("{id: pays, nodes: {a: {type: pay, input: {amount: 7}}}}", "")
	second := w.Engine.Run("{id: refunds, nodes: {b: {type: pay}}}", "")
	for _, run := range []domain.Run{first, second} {
		w.Engine.Until(run.ID, domain.RunWaiting, domain.WaitInDoubt)
	}
	list := func(f domain.DoubtFilter, want ...string) []domain.Doubt {
		t.Helper()
		f.Page.Limit = 10
		got, err := w.Runs.Doubts(t.Context(), apptest.Viewer, f)
		if err != nil || len(got.Items) != len(want) {
			t.Fatalf("%+v: %+v %v", f, got.Items, err)
		}
		for i, run := range want {
			if got.Items[i].Run != run {
				t.Errorf("%+v: item %d is of run %s", f, i, got.Items[i].Run)
			}
		}
		return got.Items
	}
	list(domain.DoubtFilter{}, second.ID, first.ID)
	list(domain.DoubtFilter{Node: "c"})
	list(domain.DoubtFilter{Plan: "refunds", Node: "b"}, second.ID)
	list(domain.DoubtFilter{Plan: "refunds", Run: first.ID})
	d := list(domain.DoubtFilter{Run: first.ID}, first.ID)[0]
	if d.Node != "a" || d.Visit != 1 || d.Item != -1 || d.Attempt != 1 || d.IdempotencyKey == "" || string(d.Input) != `{"amount":7}` ||
		d.Plan.Key != "pays" || !d.StartedAt.Equal(startOf(t, w, first.ID)) {
		t.Errorf("%+v", d)
	}
	if _, err := w.Runs.Resolve(t.Context(), app.ResolveRequest{Meta: meta(apptest.Operator, ""), ResolveRequest: domain.ResolveRequest{
		Run: d.Run, Node: d.Node, Visit: d.Visit, Item: d.Item, Attempt: d.Attempt, Action: "skip"}}); err != nil {
		t.Fatal(err)
	}
	w.Engine.Until(first.ID, domain.RunCompleted, "")
	list(domain.DoubtFilter{}, second.ID)
	if _, err := w.Runs.Doubts(t.Context(), domain.Actor{}, domain.DoubtFilter{}); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("without a role: %v", err)
	}
}
