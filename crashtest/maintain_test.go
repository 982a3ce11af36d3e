package crashtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/internal/testing/proof"
	"github.com/kairosd/kairosd/planner"
)

// The daemon is killed while it moves its write-ahead log into the database. All acknowledged data
// is there.
func TestKillDuringLogRotation(t *testing.T) {
	t.Parallel()
	bin, in := build(t), proof.Dir(t)
	deaths := 0
	for _, p := range []point{{"wal.moved", 1}, {"wal.before", 1}, {"wal.before", 2}} {
		if deaths > 0 && proof.Large() == 0 {
			break
		}
		data := filepath.Join(in, p.name+fmt.Sprint(p.k), "data")
		if err := os.MkdirAll(data, 0o700); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		d := start(t, bin, data, configFile(t, ""), failpoint.Env+"="+p.String())
		if _, _, _, problems, err := d.api.SavePlan(ctx, []byte(keeps), planner.FormatYAML, "upload", ""); err != nil {
			t.Fatal(err, problems)
		}
		acked, err := startRuns(ctx, d, 2000)
		if err == nil {
			t.Fatalf("%s is not reached by %d runs with large inputs", p, len(acked))
		}
		d.kill(t)
		deaths++
		allThere(t, filepath.Join(data, "kairos.db"), acked)
		t.Logf("%s: %d runs acknowledged", p, len(acked))
	}
	proof.Figure(t, "crash points", deaths)
}

// Retention is killed at every step. Each run has its complete journal and values, or is marked and
// shows none. Running retention again completes it.
func TestKillInRetention(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	bin, in := build(t), proof.Dir(t)
	base := filepath.Join(in, "base", "data")
	if err := os.MkdirAll(base, 0o700); err != nil {
		t.Fatal(err)
	}
	d := start(t, bin, base, configFile(t, ""))
	if _, _, _, problems, err := d.api.SavePlan(ctx, []byte(keeps), planner.FormatYAML, "upload", ""); err != nil {
		t.Fatal(err, problems)
	}
	acked, err := startRuns(ctx, d, 6)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range acked {
		if _, err := d.api.Wait(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	d.kill(t)
	if err := os.Remove(filepath.Join(base, "kairosd.sock")); err != nil {
		t.Fatal(err)
	}
	n := 0
	fresh := func() string {
		n++
		dir := filepath.Join(in, fmt.Sprint(n))
		if err := os.CopyFS(dir, os.DirFS(base)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	config := configFile(t, "retention: {keep: 2}\n")
	all := traced(t, bin, "retention", "--data", fresh(), "--config", config)
	deaths := 0
	for _, p := range some(all, "purge.durable") {
		data := fresh()
		killed, err := command(bin, p.String(), "retention", "--data", data, "--config", config)
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		if killed {
			deaths++
		}
		left(t, p, filepath.Join(data, "kairos.db"), acked, 2, len(acked))
		if _, err := command(bin, "", "retention", "--data", data, "--config", config); err != nil {
			t.Errorf("again after %s: %v", p, err)
		}
		left(t, p, filepath.Join(data, "kairos.db"), acked, 2, 2)
	}
	t.Logf("retention goes through %d points", len(all))
	if deaths == 0 {
		t.Error("nothing was killed")
	}
	proof.Figure(t, "crash points", deaths)
}

// left checks a database after retention deleted some runs: the number of complete runs is within
// limits, and the others are marked.
func left(t *testing.T, p point, path string, acked []string, least, most int) {
	t.Helper()
	s, err := store.Open(context.Background(), path, store.Options{})
	if err != nil {
		t.Fatalf("after %s: %v", p, err)
	}
	defer s.Close()
	whole := 0
	for _, id := range acked {
		r, err := s.Run(context.Background(), id)
		if err != nil || r.PurgedAt.IsZero() && len(r.Input) < 60<<10 {
			t.Errorf("after %s: run %s has %d bytes of input and is not marked as purged, %v", p, id, len(r.Input), err)
		}
		if r.PurgedAt.IsZero() {
			whole++
		}
	}
	if whole < least || whole > most {
		t.Errorf("after %s: %d whole runs are left", p, whole)
	}
	checks, err := recovery.Verify(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if len(c.Problems) > 0 {
			t.Errorf("after %s: %s: %v", p, c.Name, c.Problems)
		}
	}
}
