package store

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

	"github.com/kairosd/kairosd/internal/failpoint"
	"github.com/kairosd/kairosd/internal/prooftest"
)

// upgradeEnv makes this test binary a process that upgrades a database.
const upgradeEnv = "KAIROS_TEST_UPGRADE"

func TestUpgradeChild(t *testing.T) {
	path := os.Getenv(upgradeEnv)
	if path == "" {
		t.Skip("this is the process that another test kills")
	}
	if err := failpoint.ArmFromEnv(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(context.Background(), path, Options{migrations: with(t, addsColumn)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// upgradeIn runs the child and says whether it was killed.
func upgradeIn(t *testing.T, path, spec string) (killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestUpgradeChild$")
	cmd.Env = append(os.Environ(), upgradeEnv+"="+path, failpoint.Env+"="+spec)
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", spec, err, out)
	}
	return false
}

// A process is killed at every step of an upgrade. What is in the place of the
// database is the old one or the new one, whole, with everything that was
// acknowledged; the next start finishes it (T15).
func TestKillInUpgrade(t *testing.T) {
	t.Parallel()
	old, run := oldDatabase(t)
	in, n := prooftest.Dir(t), 0
	fresh := func() string {
		n++
		dir := filepath.Join(in, fmt.Sprint(n))
		if err := os.CopyFS(dir, os.DirFS(filepath.Dir(old))); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, "kairos.db")
	}
	trace := filepath.Join(t.TempDir(), "trace")
	upgradeIn(t, fresh(), "trace="+trace)
	b, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	hits, deaths, upgrades := map[string]int{}, 0, 0
	for i, name := range strings.Fields(string(b)) {
		hits[name]++
		if strings.HasPrefix(name, "upgrade.") {
			upgrades++
		} else if i%prooftest.Step(4) != 0 {
			continue
		}
		spec := fmt.Sprintf("kill=%s:%d", name, hits[name])
		path := fresh()
		if !upgradeIn(t, path, spec) {
			t.Errorf("%s was not reached", spec)
			continue
		}
		deaths++
		s, err := Open(context.Background(), path, Options{migrations: with(t, addsColumn)})
		if err != nil {
			t.Errorf("after %s: %v", spec, err)
			continue
		}
		var note string
		if err := s.read.QueryRow("SELECT note FROM run_details").Scan(&note); err != nil || note != "none" || s.RolledBack() {
			t.Errorf("after %s: the new column has %q, %v; rolled back: %v", spec, note, err, s.RolledBack())
		}
		if journal, err := s.Journal(context.Background(), run, 0); err != nil || len(journal) != 2 {
			t.Errorf("after %s: %d journal rows, %v", spec, len(journal), err)
		}
		checks, err := s.Verify(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range checks {
			if len(c.Problems) > 0 {
				t.Errorf("after %s: %s: %v", spec, c.Name, c.Problems)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if upgrades < 3 {
		t.Errorf("an upgrade goes through %v", hits)
	}
	prooftest.Figure(t, "crash points", deaths)
}
