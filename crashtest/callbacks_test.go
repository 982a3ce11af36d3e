package crashtest

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/testing/proof"
	"github.com/kairosd/kairosd/planner"
)

// A callback that is sent until it is acknowledged ends the wait of its run exactly once, wherever the daemon
// is killed: in the transaction that stores the callback, and right after the acknowledgment. The address
// is the same after the kill.
func TestKillAfterACallback(t *testing.T) {
	t.Parallel()
	bin, in := build(t), proof.Dir(t)
	for _, point := range []string{"callback.accepted", "acknowledgment"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			inst := newInstance(t, bin, filepath.Join(in, point))
			text := "hooks: {url: \"http://events.example.com\"}\ntools: {files: {roots: [.]}}\n"
			if err := os.WriteFile(filepath.Join(inst.dir, "kairos.yaml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := inst.open("kill=" + point + ":1"); err != nil {
				t.Fatal(err)
			}
			run, path := inst.calledBack(ctx, t)
			status, body := inst.post(ctx, t, path)
			if want := map[string]int{"callback.accepted": 0, "acknowledgment": http.StatusAccepted}[point]; status != want {
				t.Fatalf("got status %d, want %d: %s", status, want, body)
			}
			if err := inst.end(); err != nil {
				t.Fatal(err)
			}
			if err := inst.open(""); err != nil {
				t.Fatal(err)
			}
			status, body = inst.post(ctx, t, path)
			again := map[string]int{"callback.accepted": http.StatusAccepted, "acknowledgment": http.StatusNotFound}
			if want := again[point]; status != want {
				t.Errorf("sent again: got status %d, want %d: %s", status, want, body)
			}
			if err := follow(ctx, inst.api, run, func(r domain.Run) bool { return r.Status == domain.RunCompleted }); err != nil {
				t.Error(err)
			}
			if err := inst.end(); err != nil {
				t.Fatal(err)
			}
			if err := inst.verify(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

// calledBack starts a run that waits for a callback. It returns the run, and the path of its address.
func (inst *instance) calledBack(ctx context.Context, t *testing.T) (run, path string) {
	t.Helper()
	file := filepath.Join(inst.dir, "job.txt")
	plan := "id: render\nnodes:\n  order: {type: write_file, input: {path: \"" + file + "\", content: \"${run.callback}\"}}\n" +
		"  done: {wait: {event: callback}}\nedges: [{from: order, to: done}]\n"
	if _, _, _, problems, err := inst.api.SavePlan(ctx, []byte(plan), planner.FormatYAML, "", ""); err != nil {
		t.Fatal(err, problems)
	}
	started, err := inst.api.Start(ctx, domain.StartRequest{Plan: "render"})
	if err != nil {
		t.Fatal(err)
	}
	if err := follow(ctx, inst.api, started.ID, func(r domain.Run) bool { return r.WaitReason == domain.WaitSignal }); err != nil {
		t.Fatal(err)
	}
	address, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return started.ID, strings.TrimPrefix(string(address), "http://events.example.com")
}

// post sends a request to the daemon. Without an answer, the status is 0.
func (inst *instance) post(ctx context.Context, t *testing.T, path string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, inst.url+path, strings.NewReader(`{"file": "a.mp4"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(b)
}
