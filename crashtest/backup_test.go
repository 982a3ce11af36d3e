package crashtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/internal/testing/proof"
	"github.com/kairosd/kairosd/planner"
)

// command runs the daemon's binary once and reports whether it was killed.
func command(bin, spec string, args ...string) (killed bool, err error) {
	cmd := exec.Command(bin, args...)
	cmd.Env = append(os.Environ(), failpoint.Env+"="+spec)
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
	}
	return false, nil
}

// traced runs a command to its end and lists its failpoints.
func traced(t *testing.T, bin string, args ...string) []point {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "trace")
	if _, err := command(bin, "trace="+trace, args...); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	var all []point
	hits := map[string]int{}
	for name := range strings.FieldsSeq(string(b)) {
		hits[name]++
		all = append(all, point{name, hits[name]})
	}
	return all
}

// some returns the failpoints that a normal test run uses.
func some(all []point, names ...string) []point {
	if proof.Large() > 0 {
		return all
	}
	var out []point
	for _, p := range all {
		for _, name := range names {
			if p == (point{name, 1}) {
				out = append(out, p)
			}
		}
	}
	return out
}

// A backup and a restore are killed at every step. A file with a manifest is a complete backup. The
// database is the old one or the new one, complete. Running the command again completes it.
func TestKillInBackupAndRestore(t *testing.T) {
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
	deaths := 0
	first := fresh()
	saved := filepath.Join(in, "saved.db")
	made := traced(t, bin, "backup", "--data", first, saved)
	for _, p := range some(made, "backup.renamed") {
		data := fresh()
		file := filepath.Join(data, "b.db")
		killed, err := command(bin, p.String(), "backup", "--data", data, file)
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		if killed {
			deaths++
		}
		if _, err := os.Stat(file + recovery.ManifestSuffix); err == nil {
			if _, err := command(bin, "", "restore", "--data", data, "--dry-run", file); err != nil {
				t.Errorf("%s: there is a manifest, but no backup: %v", p, err)
			}
		}
		again := filepath.Join(data, "again.db") // an existing file is never overwritten
		for _, args := range [][]string{{"backup", "--data", data, again}, {"restore", "--data", data, "--dry-run", again}} {
			if _, err := command(bin, "", args...); err != nil {
				t.Errorf("again after %s: %v", p, err)
			}
		}
		allThere(t, filepath.Join(data, "kairos.db"), acked)
	}
	// The restored database lacks everything since the backup, which distinguishes the old one from
	// the new one.
	moved := traced(t, bin, "restore", "--data", first, "--force", saved)
	for _, p := range some(moved, "restore.ready", "restore.aside") {
		data := fresh()
		killed, err := command(bin, p.String(), "restore", "--data", data, "--force", saved)
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		if killed {
			deaths++
		}
		allThere(t, filepath.Join(data, "kairos.db"), acked)
		if _, err := command(bin, "", "restore", "--data", data, "--force", saved); err != nil {
			t.Errorf("again after %s: %v", p, err)
			continue
		}
		s, err := store.Open(ctx, filepath.Join(data, "kairos.db"), store.Options{})
		if err != nil {
			t.Errorf("restored again after %s: %v", p, err)
			continue
		}
		if h, err := s.Hold(ctx); err != nil || h == nil {
			t.Errorf("restored again after %s: it is not held, %v", p, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("a backup goes through %d points, a restore through %d", len(made), len(moved))
	if deaths == 0 {
		t.Error("nothing was killed")
	}
	proof.Figure(t, "crash points", deaths)
}
