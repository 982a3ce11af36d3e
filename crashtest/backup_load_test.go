package crashtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/testing/proof"
	"github.com/kairosd/kairosd/planner"
)

// The daemon is killed at every step of a backup, and at times between, while many runs are active.
// A file with a manifest is a complete backup, the runs continue and lose nothing, and the next
// daemon makes a backup that can be restored.
func TestKillInABackupUnderLoad(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	bin, in := build(t), proof.Dir(t)
	points := []string{"backup.verified:1"}
	runs := proof.Size(16, 64)
	if proof.Large() > 0 {
		points = []string{"backup.copied:1", "backup.verified:1", "backup.renamed:1", "file.synced:1", "file.renamed:1"}
		r := rand.New(rand.NewPCG(proof.Seed(t), 9))
		for range proof.Size(1, 5) { // at a random point
			points = append(points, fmt.Sprintf("commit.after:%d", 1+r.IntN(400)), fmt.Sprintf("commit.before:%d", 1+r.IntN(400)))
		}
	}
	deaths, whole := 0, 0
	for i, p := range points {
		inst := &instance{bin: bin, dir: filepath.Join(in, fmt.Sprint(i))}
		if err := os.MkdirAll(inst.data(), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(inst.dir, "kairos.yaml"), []byte("engine: {max_running: 128, max_nodes: 128}\n"),
			0o600); err != nil {
			t.Fatal(err)
		}
		if err := inst.open("from=" + inst.now() + ";kill=" + p); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = inst.end() }) // it may have ended already
		if _, _, _, problems, err := inst.api.SavePlan(ctx, []byte(works), planner.FormatYAML, "", ""); err != nil {
			t.Fatal(err, problems)
		}
		var ids []string
		for range runs {
			r, err := inst.api.Start(
				ctx,
				domain.StartRequest{Plan: "works", Input: domain.RawJSON(`{"text": "` + string(letters(3000)) + `"}`)},
			)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, r.ID)
		}
		if err := os.WriteFile(inst.now(), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := inst.api.BackUp(ctx)
		died := err != nil
		if err := inst.end(); err != nil {
			t.Fatal(err)
		}
		if died {
			deaths++
		}
		dir := filepath.Join(inst.data(), "backups")
		drill := func(manifest string) {
			t.Helper()
			file := manifest[:len(manifest)-len(recovery.ManifestSuffix)]
			if _, err := command(bin, "", "restore", "--data", inst.data(), "--dry-run", file); err != nil {
				t.Errorf("%s: there is a manifest, but no backup: %v", p, err)
			}
		}
		found, err := filepath.Glob(filepath.Join(dir, "*"+recovery.ManifestSuffix))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range found {
			drill(m)
			whole++
		}
		if !died && len(found) != 1 {
			t.Errorf("%s: a backup was acknowledged, and %d are there", p, len(found))
		}
		if err := inst.open(""); err != nil {
			t.Fatal(err)
		}
		if _, err := inst.api.BackUp(ctx); err != nil {
			t.Errorf("%s: the next backup: %v", p, err)
		}
		for _, id := range ids {
			if r, err := inst.api.Wait(ctx, id); err != nil || r.Status != domain.RunCompleted || r.Steps != 80 {
				t.Fatalf("%s: run %s is %s after %d steps: %v", p, id, r.Status, r.Steps, err)
			}
		}
		if err := inst.end(); err != nil {
			t.Fatal(err)
		}
		again, err := filepath.Glob(filepath.Join(dir, "*"+recovery.ManifestSuffix))
		// Rotation keeps one backup per hour: the new one.
		if err != nil || len(again) == 0 || slices.Contains(found, again[len(again)-1]) {
			t.Fatalf("%s: the backups %q are there, %q were: %v", p, again, found, err)
		}
		drill(again[len(again)-1])
		if err := inst.verify(ctx); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
	t.Logf("%d deaths beside %d runs, %d whole backups", deaths, runs, whole)
	if deaths == 0 {
		t.Error("nothing was killed")
	}
	proof.Figure(t, "crash points", deaths)
}

// letters returns a text with a length.
func letters(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(i*7%26)
	}
	return b
}
