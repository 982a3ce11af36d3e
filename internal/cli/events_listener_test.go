package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

const calledBack = `
id: render
nodes:
  order: {type: write_file, input: {path: job.txt, content: "${run.callback}"}}
  done: {wait: {event: callback}}
edges: [{from: order, to: done}]
`

// posted sends a request, and returns the status with the body.
func posted(t *testing.T, url, body string) string {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Host = "events.example.com" // any host name is served
	q.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(resp.StatusCode, " ", string(b))
}

// With a listener of their own, hooks and callbacks are served there and nothing else, and the main listener
// does not serve them.
func TestHooksHaveAListenerOfTheirOwn(t *testing.T) {
	t.Parallel()
	dir, at := t.TempDir(), freeAddress(t)
	cfg := written(t, dir, "kairos.yaml", "hooks: {url: \"http://"+at+"\", listen: \""+at+"\"}\ntools: {files: {roots: [.]}}\n")
	d := serve(t, filepath.Join(dir, "data"), "--config", cfg)
	run := d.start(t, strings.ReplaceAll(calledBack, "job.txt", filepath.Join(dir, "job.txt")))
	for run.WaitReason != domain.WaitSignal {
		var err error
		if run, err = d.FindRun(t.Context(), run.ID); err != nil || run.Status.Final() {
			t.Fatalf("the run is %s: %s %v", run.Status, run.Headline, err)
		}
	}
	address, err := os.ReadFile(filepath.Join(dir, "job.txt"))
	if err != nil || !strings.HasPrefix(string(address), "http://"+at+"/callbacks/"+run.ID+"-") {
		t.Fatalf("address %q %v", address, err)
	}
	main := strings.TrimSuffix(d.url, "/")
	for _, path := range []string{"/hooks/none", strings.TrimPrefix(string(address), "http://"+at)} {
		if got := posted(t, main+path, "{}"); strings.HasPrefix(got, "20") || strings.Contains(got, "refused") {
			t.Errorf("the main listener serves %s: %s", path, got)
		}
	}
	if got := posted(t, "http://"+at+"/hooks/none", "{}"); !strings.HasPrefix(got, "401 ") {
		t.Errorf("an unknown hook: %s", got)
	}
	for _, path := range []string{"/", "/login", "/api/v1/runs", "/hooks/", "/healthz", "/events/hooks"} {
		if got := posted(t, "http://"+at+path, "{}"); !strings.HasPrefix(got, "404 ") {
			t.Errorf("the listener of hooks serves %s: %s", path, got)
		}
	}
	if got := posted(t, string(address), `{"file": "a.mp4"}`); !strings.HasPrefix(got, "202 ") {
		t.Errorf("the callback: %s", got)
	}
	if code := d.end(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// An address that other machines can reach requires a certificate or a trusted proxy, also for hooks.
func TestTheListenerOfHooksNeedsTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := written(t, dir, "kairos.yaml", "hooks: {listen: \"0.0.0.0:0\"}\n")
	_, problem, code := runKairosd("serve", "--data", filepath.Join(dir, "data"), "--config", cfg, "--listen", "127.0.0.1:0")
	if code != 78 || !strings.Contains(problem, "0.0.0.0:0 can be reached from other machines") {
		t.Errorf("exit code %d: %s", code, problem)
	}
}
