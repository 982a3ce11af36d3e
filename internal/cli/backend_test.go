package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/assemble"
	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
)

// kairosd serve executes no runs that workers of Temporal execute: neither as configured, nor those of a database. Local
// commands read such a database, and start nothing.
func TestRunsOnTemporalAreNotExecutedHere(t *testing.T) {
	t.Parallel()
	sh := newShell(t)
	run, dir := sh.run, sh.dir
	data, file := filepath.Join(dir, "data"), filepath.Join(dir, "kairos.yaml")
	if err := os.WriteFile(file, []byte("engine: {backend: temporal}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := runKairosd("serve", "--data", data, "--config", file); code != 78 ||
		!strings.Contains(stderr, "kairos-temporal serve") {
		t.Errorf("serve: exit %d: %s", code, stderr)
	}
	plan := filepath.Join(dir, "ask.yaml")
	if err := os.WriteFile(plan, []byte("id: ask\nnodes: {a: {type: approval, input: {message: Go?}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(data, "kairos.db")
	out, stderr, code := run("run", plan, "--db", db)
	id := anID.FindString(out + stderr)
	if code != 0 && code != 3 || id == "" {
		t.Fatalf("run: exit %d: %s%s", code, out, stderr)
	}
	s, err := recovery.Open(t.Context(), db, recovery.Options{Options: store.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := assemble.SetBackend(t.Context(), s, config.BackendTemporal); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := runKairosd("serve", "--data", data, "--listen", "127.0.0.1:0"); code != 78 ||
		!strings.Contains(stderr, "1 unfinished runs of the backend temporal") {
		t.Errorf("serve: exit %d: %s", code, stderr)
	}
	if out, stderr, code := run("show", id, "--db", db); code != 0 || !strings.Contains(out, "Go?") {
		t.Errorf("show: exit %d: %s%s", code, out, stderr)
	}
	for _, args := range [][]string{{"run", plan}, {"cancel", id, "--yes"}} {
		if _, stderr, code := run(append(args, "--db", db)...); code == 0 || !strings.Contains(stderr, "workers of Temporal") {
			t.Errorf("%s: exit %d: %s", args[0], code, stderr)
		}
	}
}
