package store_test

import (
	"context"
	"sync"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// together lets the writer commit checkpoints in one batch.
func together(t *testing.T, s *store.Store, other string, list ...domain.Checkpoint) {
	t.Helper()
	hold, held := make(chan struct{}), make(chan struct{})
	r, err := s.Run(context.Background(), other)
	if err != nil {
		t.Fatal(err)
	}
	s.Enqueue(
		[]domain.Checkpoint{{Run: other, Fence: r.LastSeq, Entries: []domain.Entry{visit("a", r.LastSeq, "1")}}},
		func(error) { close(held); <-hold },
	)
	<-held
	var wg sync.WaitGroup
	for _, c := range list {
		wg.Add(1)
		s.Enqueue([]domain.Checkpoint{c}, func(err error) {
			defer wg.Done()
			if err != nil {
				t.Error(err)
			}
		})
	}
	close(hold)
	wg.Wait()
}

// Rows may follow the end of a run: results of abandoned handlers. They count for the run's row as
// for its journal, whatever else the batch contains.
func TestRowsAfterTheEndCount(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	ctx := context.Background()
	v := storetest.Plan(t, s, twoNodes)
	other := storetest.Run(t, s, v, "").ID
	row := func(run string, fence int64, patch *domain.RunPatch) domain.Checkpoint {
		return domain.Checkpoint{Run: run, Fence: fence, Patch: patch, Entries: []domain.Entry{visit("a", fence, "1")}}
	}
	started := func() string {
		run := storetest.Run(t, s, v, "").ID
		commit(t, s, run, 0, &domain.RunPatch{Status: domain.RunRunning, AddSteps: 1, AddPath: "c"}, visit("a", 0, "1"))
		return run
	}
	step := &domain.RunPatch{AddSteps: 1, AddPath: "c"}
	end := &domain.RunPatch{Status: domain.RunCompleted, AddSteps: 1, AddPath: "c"}
	alone, late, whole := started(), started(), started()
	commit(t, s, alone, 1, end, visit("a", 1, "1"))
	commit(t, s, alone, 2, step, visit("a", 2, "1"))
	together(t, s, other, row(late, 1, end), row(late, 2, step))
	together(t, s, other, row(whole, 1, step), row(whole, 2, end), row(whole, 3, step), row(whole, 4, nil))
	for run, want := range map[string]struct {
		last, steps int64
		path        string
	}{alone: {3, 3, "ccc"}, late: {3, 3, "ccc"}, whole: {5, 4, "cccc"}} {
		r, err := s.Run(ctx, run)
		if err != nil || r.Status != domain.RunCompleted || r.LastSeq != want.last || r.Steps != want.steps || r.Path != want.path {
			t.Errorf("run is %s at %d, %d steps, %q, %v; want %+v", r.Status, r.LastSeq, r.Steps, r.Path, err, want)
		}
		journal, err := s.Journal(ctx, run, 0)
		if err != nil || int64(len(journal)) != want.last {
			t.Errorf("%d rows, %v", len(journal), err)
		}
		commit(t, s, run, want.last, nil, visit("b", 0, "1")) // the writer and the database agree on the position
	}
	checks, err := recovery.Verify(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if len(c.Problems) > 0 {
			t.Errorf("%s: %v", c.Name, c.Problems)
		}
	}
}
