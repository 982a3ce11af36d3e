package servertest

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/kairos"
	"github.com/kairosd/kairosd/internal/domain"
)

// problems reads the status of the control plane until its workers have problems that contain a text, or none for "".
func (k *kairosd) problems(text string) *domain.Workers {
	k.s.t.Helper()
	var last domain.Server
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		last, err = k.Server(k.s.t.Context())
		if err != nil || last.Workers == nil || last.Workers.CheckedAt.IsZero() {
			continue
		}
		if all := strings.Join(last.Workers.Problems, "\n"); text == "" && all == "" || text != "" && strings.Contains(all, text) {
			return last.Workers
		}
	}
	k.s.t.Fatalf("the workers are %+v, %v; want the problem %q", last.Workers, err, text)
	return nil
}

// kairos runs a command and returns what it prints.
func (k *kairosd) kairos(args ...string) string {
	k.s.t.Helper()
	var out bytes.Buffer
	streams := cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out, Env: func(string) string { return "" }}
	if code := kairos.Run(k.s.t.Context(), streams, append(args, "--db", k.dir.Database())); code != 0 {
		k.s.t.Fatalf("kairos %s: %s", args, out.String())
	}
	return out.String()
}

// A control plane without workers shows the problem, and a run that needs a queue shows the queue. The problems go away when the
// workers start. A server that does not answer is a problem of its own.
func TestMissingWorkersAreShown(t *testing.T) {
	s := startServer(t)
	k := s.kairosd()
	b := k.browser()
	k.problems("No worker executes runs. Start a worker: kairos-temporal worker")
	if !strings.Contains(b.page("/"), "No worker executes runs") || !strings.Contains(b.page("/system"), "No worker executes runs") {
		t.Error("the pages do not show the problem")
	}
	run := k.begin(k.save("id: routed\nnodes:\n  a: {type: tool, tool: json, queue: gpu, input: {value: 1}}\n"))
	waits := func(queue string) {
		t.Helper()
		var last []domain.WorkerWait
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			v, err := k.View(t.Context(), run.ID)
			if last = v.WorkerWaits; err == nil && len(last) == 1 && last[0].Queue == queue && last[0].Workers == 0 {
				return
			}
		}
		t.Fatalf("the run has the waits %+v", last)
	}
	waits("")
	s.worker(s.config())
	waits("gpu")
	if w := k.problems("No worker offers the queue gpu. Steps that wait for it: 1."); len(w.Serving()) != 1 {
		t.Errorf("the workers are %q", w.Serving())
	}
	if !strings.Contains(b.page("/runs/"+run.ID), "kairos-temporal worker --offer gpu") {
		t.Error("the page of the run does not show what it waits for")
	}
	for _, args := range [][]string{{"status"}, {"server"}, {"show", run.ID}} {
		if out := k.kairos(args...); !strings.Contains(out, "kairos-temporal worker --offer gpu") {
			t.Errorf("kairos %s prints\n%s", args, out)
		}
	}
	start(t, filepath.Join(s.bin, "kairos-temporal"), "worker", "--address", s.address, "--config", s.config(), "--offer", "gpu", "--only")
	k.until(run.ID, domain.RunCompleted, "")
	k.problems("")
	s.down()
	k.problems("The Temporal server is not available")
	s.up()
	k.problems("")
}
