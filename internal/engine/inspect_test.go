package engine_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// reads counts complete reads of a journal.
type reads struct {
	engine.Store
	n atomic.Int64
}

func (r *reads) Journal(ctx context.Context, run string, after int64) ([]domain.Entry, error) {
	r.n.Add(1)
	return r.Store.Journal(ctx, run, after)
}

// A view of a run reads its journal once. It equals the view and the preview that are read
// separately.
func TestAViewReadsTheJournalOnce(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	counted := &reads{Store: s}
	e := enginetest.OpenWith(t, s, counted, enginetest.NewRegistry(), engine.Options{})
	ctx := t.Context()
	for name, run := range map[string]domain.Run{
		"completed": e.Settle(e.Run("id: good\nnodes: {a: {type: set, input: 1}}", "").ID),
		"failed": e.Settle(e.Run("id: bad\nnodes: {a: {type: set, input: 1}, b: {type: set, input: \"${output.a.x.y}\"}}\n"+
			"edges: [{from: a, to: b}]", "").ID),
		"waiting": e.Until(e.Begin(e.Save("id: gate\nnodes: {a: {type: approval, input: {message: \"go on?\"}}}"), "").ID,
			domain.RunWaiting, domain.WaitApproval),
	} {
		want, err := e.Detail(ctx, run.ID)
		if err != nil {
			t.Fatal(err)
		}
		preview, err := e.Preview(ctx, enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionResume})
		if err != nil {
			t.Fatal(err)
		}
		before := counted.n.Load()
		got, resume, err := e.Look(ctx, enginetest.Operator, run.ID)
		if err != nil || resume == nil {
			t.Fatalf("%s: %v", name, err)
		}
		foretold, err := resume()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n := counted.n.Load() - before; n != 1 {
			t.Errorf("%s: the journal is read %d times, want once", name, n)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: Detail says otherwise: %s", name, diff)
		}
		if diff := cmp.Diff(preview, foretold); diff != "" {
			t.Errorf("%s: Preview says otherwise: %s", name, diff)
		}
	}
}
