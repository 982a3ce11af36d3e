package store_test

import (
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// The next start of a plan is the earliest scheduled start. It is unknown if too many runs are
// queued.
func TestTheNextStartOfAPlan(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	v := storetest.Plan(t, s, twoNodes)
	now := time.Now()
	queue := func(in time.Duration) string {
		t.Helper()
		r := domain.NewRun{PlanID: v.PlanID, Hash: v.Hash, Actor: "test", Origin: "api"}
		if in != 0 {
			r.StartAt = now.Add(in)
		}
		run, _, err := s.CreateRun(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return run.ID
	}
	next := func(want string, at time.Duration) {
		t.Helper()
		run, start, err := s.NextStart(t.Context(), v.PlanKey)
		if err != nil || run != want || want != "" && !start.Equal(now.Add(at).Truncate(time.Microsecond)) {
			t.Errorf("next is %q at %v (%v), want %q", run, start, err, want)
		}
	}
	next("", 0)
	queue(0)
	queue(-time.Hour)
	next("", 0)
	queue(3 * time.Hour)
	soon := queue(2 * time.Hour)
	queue(4 * time.Hour)
	next(soon, 2*time.Hour)
	for range 96 {
		queue(0)
	}
	next("", 0)
}
