package store

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// failedRuns creates runs that fail with the same fingerprint.
func failedRuns(t *testing.T, s *Store, v domain.Version, n int) []string {
	t.Helper()
	ids := make([]string, n)
	var wg sync.WaitGroup
	for worker := range 64 {
		wg.Go(func() {
			for i := worker; i < n; i += 64 {
				r, _, err := s.CreateRun(t.Context(), domain.NewRun{Hash: v.Hash, Actor: "t", Origin: "api"})
				if err == nil {
					err = s.Commit(t.Context(), domain.Checkpoint{Run: r.ID, Entries: []domain.Entry{row("a", "1")}, Patch: failing()})
				}
				if err != nil {
					t.Error(err)
					return
				}
				ids[i] = r.ID
			}
		})
	}
	wg.Wait()
	return ids
}

func failing() *domain.RunPatch {
	node := "a"
	return &domain.RunPatch{Status: domain.RunFailed, Node: &node, Error: &domain.RunError{Code: "http", Message: "no answer", Node: node}}
}

// Large groups are acknowledged in several transactions. The first one contains the record of who
// did it, so that a crash between two leaves no acknowledgment without an actor.
func TestAcknowledgingALargeGroupIsRecordedFirst(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "kairos.db")
	s, err := Open(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := putVersion(t, s, "p", strings.Repeat("a", 64))
	failedRuns(t, s, v, ackBatch+1)
	groups, err := s.FailureGroups(ctx, 10)
	if err != nil || len(groups) != 1 || groups[0].Runs != ackBatch+1 {
		t.Fatalf("%+v %v", groups, err)
	}
	marta := domain.Actor{Name: "marta", Source: "ui"}
	s.OnBatch(func(int, time.Duration) { s.writer.fail(errors.New("the process ends")) })
	if _, err := s.AckFailures(ctx, marta, groups[0].Ref(), "known"); err == nil {
		t.Fatal("both transactions were one")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(ctx, path, Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	left, err := s.FailureGroups(ctx, 10)
	if err != nil || len(left) != 1 || left[0].Runs >= groups[0].Runs {
		t.Fatalf("%+v %v", left, err)
	}
	if left[0].Ack == nil || left[0].Ack.Note != "known" || left[0].Ack.Runs != ackBatch+1 {
		t.Errorf("%d runs are acknowledged, by %+v", groups[0].Runs-left[0].Runs, left[0].Ack)
	}
	if n, err := s.AckFailures(ctx, marta, left[0].Ref(), ""); err != nil || n != left[0].Runs {
		t.Errorf("the rest: %d, %v", n, err)
	}
	if n, err := s.UnackFailures(ctx, marta, left[0].Ref()); err != nil || n != ackBatch+1 {
		t.Errorf("%d taken back, %v", n, err)
	}
	verified(t, s)
}

func verified(t *testing.T, s *Store) {
	t.Helper()
	checks, err := Examine(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if len(c.Problems) > 0 {
			t.Errorf("%s: %q", c.Name, c.Problems)
		}
	}
}

// A refused checkpoint leaves a failed run in the cache of the writer. The group of the run is
// acknowledged, and then the run is resumed. The counters are still correct.
func TestAnAcknowledgedGroupIsNotCached(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	ctx := t.Context()
	run := failedRuns(t, s, putVersion(t, s, "p", strings.Repeat("a", 64)), 1)[0]
	stale := domain.Checkpoint{Run: run, Fence: 0, Entries: []domain.Entry{row("a", "1")}}
	if err := s.Commit(ctx, stale); domain.CodeOf(err) != domain.CodeConflict {
		t.Fatalf("a stale checkpoint: %v", err)
	}
	groups, err := s.FailureGroups(ctx, 10)
	if err != nil || len(groups) != 1 {
		t.Fatalf("%+v %v", groups, err)
	}
	if n, err := s.AckFailures(ctx, domain.Actor{Name: "marta"}, groups[0].Ref(), ""); err != nil || n != 1 {
		t.Fatalf("%d acknowledged, %v", n, err)
	}
	if err := s.Commit(ctx, domain.Checkpoint{Run: run, Fence: 1, Entries: []domain.Entry{row("b", "2")},
		Patch: &domain.RunPatch{Status: domain.RunRunning}}); err != nil {
		t.Fatal(err)
	}
	verified(t, s)
}
