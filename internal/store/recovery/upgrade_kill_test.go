package recovery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/internal/testing/proof"
)

// upgradeEnv turns this test binary into a process that upgrades a database. The other variables
// contain the recipients of the encryption, and the maximum size of a file in bytes.
const (
	upgradeEnv   = "KAIROS_TEST_UPGRADE"
	recipientEnv = "KAIROS_TEST_RECIPIENT"
	fileSizeEnv  = "KAIROS_TEST_FILE_SIZE"
)

func TestUpgradeChild(t *testing.T) {
	path := os.Getenv(upgradeEnv)
	if path == "" {
		t.Skip("this is the process that another test kills")
	}
	if err := failpoint.ArmFromEnv(); err != nil {
		t.Fatal(err)
	}
	if n, err := strconv.ParseUint(os.Getenv(fileSizeEnv), 10, 64); err == nil {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(
		context.Background(),
		path,
		Options{Options: store.Options{Migrations: with(t, addsColumn)}, Recipients: strings.Fields(os.Getenv(recipientEnv))},
	)
	if e, ok := errors.AsType[*domain.Error](err); ok {
		t.Fatalf("%s\n%s", err, e.Suggestion)
	} else if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// withoutRaces skips a test under the race detector. The detector would make it ten times as long
// and find nothing, because each process is killed, and another one checks the result.
func withoutRaces(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("make test")
	}
}

// upgradeIn runs the child process and reports whether it was killed.
func upgradeIn(t *testing.T, path, spec, recipient string) (killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestUpgradeChild$")
	cmd.Env = append(os.Environ(), upgradeEnv+"="+path, recipientEnv+"="+recipient, failpoint.Env+"="+spec)
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", spec, err, out)
	}
	return false
}

// A process is killed at every step of an upgrade. Afterwards, the database is either the old one
// or the new one, complete, with every acknowledged change. The next start finishes the upgrade.
func TestKillInUpgrade(t *testing.T) {
	withoutRaces(t)
	t.Parallel()
	killInUpgrade(t, "")
}

// With an encrypted copy, there is never a second readable database, and the copy is complete.
func TestKillInEncryptedUpgrade(t *testing.T) {
	withoutRaces(t)
	t.Parallel()
	public, _ := keyPair(t)
	killInUpgrade(t, public)
}

func killInUpgrade(t *testing.T, recipient string) {
	old, run := oldDatabase(t)
	in, n := proof.Dir(t), 0
	fresh := func() string {
		n++
		dir := filepath.Join(in, fmt.Sprint(n))
		if err := os.CopyFS(dir, os.DirFS(filepath.Dir(old))); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, "kairos.db")
	}
	trace := filepath.Join(t.TempDir(), "trace")
	upgradeIn(t, fresh(), "trace="+trace, recipient)
	b, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	hits, deaths, upgrades := map[string]int{}, 0, 0
	for i, name := range strings.Fields(string(b)) {
		hits[name]++
		if strings.HasPrefix(name, "upgrade.") {
			upgrades++
		} else if i%proof.Step(4) != 0 {
			continue
		}
		spec := fmt.Sprintf("kill=%s:%d", name, hits[name])
		path := fresh()
		if !upgradeIn(t, path, spec, recipient) {
			t.Errorf("%s was not reached", spec)
			continue
		}
		deaths++
		s, err := Open(
			context.Background(),
			path,
			Options{Options: store.Options{Migrations: with(t, addsColumn)}, Recipients: strings.Fields(recipient)},
		)
		if err != nil {
			t.Errorf("after %s: %v", spec, err)
			continue
		}
		var note string
		if err := s.Core().Read.QueryRow("SELECT note FROM run_details").Scan(&note); err != nil || note != "none" || s.RolledBack() {
			t.Errorf("after %s: the new column has %q, %v; rolled back: %v", spec, note, err, s.RolledBack())
		}
		if journal, err := s.Journal(context.Background(), run, 0); err != nil || len(journal) != 2 {
			t.Errorf("after %s: %d journal rows, %v", spec, len(journal), err)
		}
		checks, err := Verify(context.Background(), s)
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
		if recipient == "" {
			continue
		}
		if got := plainFiles(t, filepath.Dir(path)); len(got) != 1 || got[0] != path {
			t.Errorf("after %s: databases that anybody can read: %v", spec, got)
		}
		kept, err := ReadManifest(keptBefore(t, path))
		if err != nil || VerifyIntact(kept) != nil {
			t.Errorf("after %s: what is kept is not whole: %v, %v", spec, err, VerifyIntact(kept))
		}
	}
	if upgrades < 3 {
		t.Errorf("an upgrade goes through %v", hits)
	}
	proof.Figure(t, "crash points", deaths)
}
