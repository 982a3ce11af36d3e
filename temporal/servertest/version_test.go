package servertest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/temporal/internal/driver"
)

// nextVersion builds kairos-temporal with the next version of the driver, and returns its directory. With only, it cannot execute
// older runs.
func (s *server) nextVersion(only bool) string {
	s.t.Helper()
	dir := filepath.Join(s.dir, "next")
	source, err := filepath.Abs("../internal/driver/version.go")
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		s.t.Fatal(err)
	}
	now, next := fmt.Sprintf("const Version = %d\n", driver.Version), fmt.Sprintf("const Version = %d\n", driver.Version+1)
	if strings.Count(string(text), now) != 1 {
		s.t.Fatalf("%s does not contain %q", source, now)
	}
	after := strings.Replace(string(text), now, next, 1)
	if oldest := fmt.Sprintf("const Oldest = %d\n", driver.Oldest); only {
		if strings.Count(after, oldest) != 1 {
			s.t.Fatalf("%s does not contain %q", source, oldest)
		}
		after = strings.Replace(after, oldest, "const Oldest = Version\n", 1)
	}
	changed := s.file("version.go", after)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{source: changed}})
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-trimpath", "-overlay", s.file("overlay.json", string(overlay)), "-o", dir+"/",
		"./cmd/kairos-temporal")
	cmd.Dir, cmd.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("go build: %v\n%s", err, out)
	}
	return dir
}

// kairosd is upgraded to the next version of the driver before its worker is. The old worker executes old runs, and no part of
// new runs. When a new worker starts, all runs complete, with each payment once.
func TestAWorkerWithAnOldVersion(t *testing.T) {
	s, l := startServer(t), openLedger(t)
	next := s.nextVersion(false)
	k := s.kairosd()
	s.worker(s.config())
	o := k.orders(l)
	o.begin("before")
	<-l.called // it has begun
	k.stop()
	s.bin = next
	k.up()
	o.begin("after-0")
	k.until(o.runs["before"].ID, domain.RunCompleted, "")
	for _, path := range pathsOf("after-0") {
		if calls := l.of(path); len(calls) > 0 {
			t.Errorf("the old worker has executed a step of a new run: %s %v", path, calls)
		}
	}
	s.worker(s.config())
	for i := range 3 {
		o.begin(fmt.Sprintf("after-%d", i+1))
	}
	o.finish()
	o.check()
}

// A release can no longer execute an old run. Its workers leave the run alone, kairosd shows the problem, and a worker of the release
// before ends the run.
func TestARunThatIsTooOld(t *testing.T) {
	s, b := startServer(t), openBank(t)
	next, before := s.nextVersion(true), s.bin
	k := s.kairosd()
	w := s.worker(s.config())
	v := k.save(paymentOf(b, true))
	run := k.begin(v)
	k.until(run.ID, domain.RunWaiting, domain.WaitApproval)
	if err := w.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = w.Wait() // the signal is the reason
	k.stop()
	s.down() // the server remembers workers that have stopped
	s.up()
	s.bin = next
	k.up()
	s.worker(s.config())
	young := k.begin(v)
	k.until(young.ID, domain.RunWaiting, domain.WaitApproval) // the new worker executes new runs
	k.problems("No worker executes the runs that began with version 1 of the driver. Unfinished runs: 1.")
	s.bin = before
	s.worker(s.config())
	k.approve(run.ID)
	k.until(run.ID, domain.RunCompleted, "")
	k.problems("")
}
