package store_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/planner/walk"
)

const unfinishedEnv = "KAIROS_UNFINISHED" // number of unfinished runs

// After a crash with many unfinished runs, new work is accepted at once, because runs are resumed
// in turn. `make recovery` runs this with ten thousand and requires two seconds.
func TestNewWorkIsAcceptedSoonAfterACrash(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv(unfinishedEnv))
	large := n > 0
	if !large {
		n = 150
	}
	path := filepath.Join(t.TempDir(), "kairos.db")
	s, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	made := templates(t, s, 1)
	counts := map[string]int{}
	if err := store.Fill(s, n, func(i int) store.FillRun {
		kind := []string{"running", "running", "running", "waiting", "waiting"}[i%5]
		counts[kind]++
		return store.FillRun{Template: &made[kind][0], At: time.Now()}
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	began := time.Now()
	s, err = store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	opened := time.Since(began)
	call := func(_ context.Context, c *engine.Call) (engine.Result, error) {
		return engine.Result{Output: c.Node.ID}, nil
	}
	reg := enginetest.NewRegistry()
	for _, typ := range []string{"datetime", "http", "calculator"} {
		reg.Handle(typ, walk.EffectIdempotent, call)
	}
	e := enginetest.OpenOn(t, s, reg, engine.Options{})
	ready := time.Since(began)
	r := e.Run(`{nodes: {a: {type: set, input: 1}}}`, "")
	accepted := time.Since(began)
	e.Until(r.ID, domain.RunCompleted, "")
	finished := time.Since(began)
	for {
		c, err := s.RunCounts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if c.ByStatus[domain.RunRunning]+c.ByStatus[domain.RunQueued] == 0 {
			break
		}
		if time.Since(began) > 5*time.Minute {
			t.Fatalf("runs do not go on: %+v", c)
		}
		time.Sleep(5 * time.Millisecond) // a read-only observer
	}
	all := time.Since(began)
	t.Logf(
		"%d unfinished (%d in flight): database open after %s, engine after %s, a new run accepted after %s and done after "+
			"%s, all in flight done after %s",
		n,
		counts["running"],
		opened.Round(time.Millisecond),
		ready.Round(time.Millisecond),
		accepted.Round(time.Millisecond),
		finished.Round(time.Millisecond),
		all.Round(time.Millisecond),
	)
	if large && accepted > 2*time.Second {
		t.Errorf("a new run was accepted after %s", accepted)
	}
	after, err := s.RunCounts(t.Context())
	if err != nil || after.ByStatus[domain.RunWaiting] != int64(counts["waiting"])+1 || after.ByStatus[domain.RunFailed] != 1 {
		t.Errorf("afterwards: %+v, %v", after, err)
	}
}
