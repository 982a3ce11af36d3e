package cli_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// crashed copies the data directory of an active daemon, as a power failure leaves it: the anchor of
// the audit log first, then the database, then its log.
func crashed(t *testing.T, data string) string {
	t.Helper()
	to := filepath.Join(shortDir(t), "data")
	if err := os.Mkdir(to, 0o700); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadDir(data)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		if e.Type().IsRegular() && e.Name() != "kairos.db" && e.Name() != "kairos.db-wal" && e.Name() != "kairos.db-shm" {
			names = append(names, e.Name())
		}
	}
	for _, name := range append(names, "kairos.db", "kairos.db-wal") {
		b, err := os.ReadFile(filepath.Join(data, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// quarantined: --release is required. The run then runs its interrupted step again.
func TestResumeAQuarantinedRun(t *testing.T) {
	t.Parallel()
	called, over := make(chan struct{}), make(chan struct{})
	var calls atomic.Int32
	bank := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the body does not matter
		if calls.Add(1) <= 3 {
			called <- struct{}{}
			<-over // the daemon crashes during the call
		}
		_, _ = io.WriteString(w, "ok") // a lost answer fails the test below
	}))
	t.Cleanup(bank.Close)
	s := newShell(t)
	config := s.file("kairos.yaml", "tools: {http: {allow_private: [\"127.0.0.0/8\"]}}\n")
	data := filepath.Join(shortDir(t), "data")
	s.env["KAIROS_DB"] = filepath.Join(data, "kairos.db")
	d := serve(t, data, "--config", config, "--crash-loop", "0")
	defer close(over) // before the daemons stop
	id := s.detached("put", "id: put\nnodes:\n  put: {type: http, effect: idempotent, "+
		"input: {method: PUT, url: \""+bank.URL+"\", body: 1}}\n")
	for range 3 {
		select {
		case <-called:
		case <-time.After(time.Minute):
			t.Fatal("the step is not executed")
		}
		data = crashed(t, data)
		d = serve(t, data, "--config", config, "--crash-loop", "0")
	}
	s.env["KAIROS_DB"] = filepath.Join(data, "kairos.db")
	d.until(t, id, func(r domain.Run) bool { return r.WaitReason == domain.WaitQuarantined })
	if out, _ := s.expect(0, "status"); !strings.Contains(out, "quarantined") || !strings.Contains(out, "--release") {
		t.Error(out)
	}
	if _, stderr := s.expect(2, "resume", id, "--yes"); !strings.Contains(stderr, "is quarantined") ||
		!strings.Contains(stderr, "kairos resume "+id+" --release") {
		t.Error(stderr)
	}
	if _, stderr := s.expect(2, "resume", id, "--release"); !strings.Contains(stderr, "--yes") {
		t.Error(stderr)
	}
	s.expect(0, "resume", id, "--release", "--yes")
	if r, err := d.FindRun(context.Background(), id); err != nil || r.Status != domain.RunCompleted || calls.Load() != 4 {
		t.Errorf("the run is %s after %d calls, %v", r.Status, calls.Load(), err)
	}
}
