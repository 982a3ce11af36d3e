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

// nextVersion builds kairos-temporal with the next version of the driver, and returns its directory.
func (s *server) nextVersion() string {
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
	changed := s.file("version.go", strings.Replace(string(text), now, next, 1))
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
	next := s.nextVersion()
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
