package cli_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// site is a system that steps call. Its first response differs from later ones.
type site struct {
	*httptest.Server
	calls atomic.Int32
}

func newSite(t *testing.T, first func(w http.ResponseWriter)) *site {
	t.Helper()
	s := &site{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the body does not matter
		if s.calls.Add(1) == 1 {
			first(w)
			return
		}
		_, _ = io.WriteString(w, "ok") // a lost answer fails the test below
	}))
	t.Cleanup(s.Close)
	return s
}

// until follows the events of a run until it reaches a state.
func (d *serving) until(t *testing.T, run string, reached func(domain.Run) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for range d.Events(ctx, run, "") {
		if r, err := d.FindRun(ctx, run); err != nil {
			t.Fatal(err)
		} else if reached(r) {
			return
		}
	}
	r, err := d.FindRun(t.Context(), run)
	t.Fatalf("the run is %s %s, %v", r.Status, r.WaitReason, err)
}

// daemonShell returns a daemon, and a shell that uses its socket.
func daemonShell(t *testing.T) (*serving, *shell) {
	t.Helper()
	s := newShell(t)
	data := filepath.Join(shortDir(t), "data")
	config := s.file("kairos.yaml", "tools: {http: {allow_private: [\"127.0.0.0/8\"]}}\n")
	s.env["KAIROS_DB"] = filepath.Join(data, "kairos.db")
	return serve(t, data, "--config", config), s
}

// detached starts a run of a plan and returns its id.
func (s *shell) detached(name, plan string, more ...string) string {
	s.t.Helper()
	out, _ := s.expect(0, append([]string{"run", s.file(name+".yaml", plan), "--detach"}, more...)...)
	return strings.TrimSpace(out)
}

const asksToGoOn = "id: asks\nnodes:\n  ask: {type: approval, input: {message: \"Go on?\"}}\n"

// failed: the failed step runs again.
func TestResumeAFailedRun(t *testing.T) {
	t.Parallel()
	_, s := daemonShell(t)
	r := s.result(1, "run", s.file("bad.yaml", "id: bad\nnodes:\n  look: {type: json, input: {value: 1, path: bad}}\n"), "--json")
	if _, stderr := s.expect(1, "resume", r.RunID, "--yes"); !strings.Contains(stderr, "resume: 0 kept, 1 again, 0 new") {
		t.Error(stderr)
	}
}

// cancelled: the unfinished step runs again.
func TestResumeACancelledRun(t *testing.T) {
	t.Parallel()
	d, s := daemonShell(t)
	id := s.detached("wait", "id: sleeper\nnodes:\n  nap: {type: wait, input: {for: 1h}}\n")
	d.until(t, id, func(r domain.Run) bool { return r.WaitReason == domain.WaitTimer })
	s.expect(0, "cancel", id)
	if _, stderr := s.expect(0, "resume", id, "--yes", "--detach"); !strings.Contains(stderr, "1 again") {
		t.Error(stderr)
	}
	d.until(t, id, func(r domain.Run) bool { return r.WaitReason == domain.WaitTimer })
}

// paused: the pause ends.
func TestResumeAPausedRun(t *testing.T) {
	t.Parallel()
	d, s := daemonShell(t)
	id := s.detached("wait", "id: sleeper\nnodes:\n  nap: {type: wait, input: {for: 1h}}\n")
	d.until(t, id, func(r domain.Run) bool { return r.WaitReason == domain.WaitTimer })
	s.expect(0, "runs", "pause", id)
	if _, stderr := s.expect(0, "resume", id, "--yes", "--detach"); !strings.Contains(stderr, "unpause: ") {
		t.Error(stderr)
	}
	d.until(t, id, func(r domain.Run) bool { return r.WaitReason == domain.WaitTimer && !r.Paused })
}

// waiting for budget: the resume names the limit and the command that raises it.
func TestResumeARunWithoutBudget(t *testing.T) {
	t.Parallel()
	_, s := daemonShell(t)
	r := s.result(3, "run", s.file("spend.yaml", spend), "--json")
	if _, stderr := s.expect(2, "resume", r.RunID, "--yes"); !strings.Contains(stderr, "max_steps 1 is used up") ||
		!strings.Contains(stderr, "kairos runs limits "+domain.ShortID(r.RunID)+" --max-tokens") {
		t.Error(stderr)
	}
}

// waiting for a retry: the next attempt starts now.
func TestResumeARunThatWaitsForARetry(t *testing.T) {
	t.Parallel()
	d, s := daemonShell(t)
	flaky := newSite(t, func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) })
	id := s.detached("retry", "id: retry\nnodes:\n  get: {type: http, input: {url: \""+flaky.URL+"\"}, "+
		"retry: {max_attempts: 3, backoff: [1h]}}\n")
	d.until(t, id, func(r domain.Run) bool { return r.WaitReason == domain.WaitRetry })
	if _, stderr := s.expect(0, "resume", id, "--yes"); !strings.Contains(stderr, "retry now: ") || flaky.calls.Load() != 2 {
		t.Errorf("%d calls: %s", flaky.calls.Load(), stderr)
	}
}

// scheduled: --now is required.
func TestResumeAScheduledRun(t *testing.T) {
	t.Parallel()
	_, s := daemonShell(t)
	id := s.detached("once", "id: once\nnodes:\n  a: {type: set, input: 42}\n", "--start-at", "2h")
	if _, stderr := s.expect(2, "resume", id, "--yes"); !strings.Contains(stderr, "is scheduled for") ||
		!strings.Contains(stderr, "kairos resume "+id+" --now") {
		t.Error(stderr)
	}
	if out, _ := s.expect(0, "resume", id, "--now", "--yes"); out != "42\n" {
		t.Error(out)
	}
	if _, stderr := s.expect(2, "resume", id, "--now", "--yes"); !strings.Contains(stderr, "is not scheduled") ||
		!strings.Contains(stderr, "without --now") {
		t.Error(stderr)
	}
}

// in doubt: the resume changes nothing and names the command.
func TestResumeARunInDoubt(t *testing.T) {
	t.Parallel()
	d, s := daemonShell(t)
	bank := newSite(t, func(w http.ResponseWriter) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		conn.Close() // after the request: the outcome is unknown
	})
	id := s.detached("pay", "id: pay\nnodes:\n  pay: {type: http, effect: unsafe, input: {method: POST, url: \""+bank.URL+"\", body: 1}}\n")
	d.until(t, id, func(r domain.Run) bool { return r.WaitReason == domain.WaitInDoubt })
	_, stderr := s.expect(2, "resume", id, "--yes")
	if !strings.Contains(stderr, "step pay of run "+domain.ShortID(id)+" is in doubt") ||
		!strings.Contains(stderr, "kairos runs resolve "+domain.ShortID(id)+" pay --happened JSON") || bank.calls.Load() != 1 {
		t.Errorf("%d calls: %s", bank.calls.Load(), stderr)
	}
	s.expect(0, "runs", "resolve", id, "pay", "--retry")
	d.until(t, id, func(r domain.Run) bool { return r.Status == domain.RunCompleted })
}

// An open approval: the resume changes nothing and names the commands.
func TestResumeARunWithAnApproval(t *testing.T) {
	t.Parallel()
	_, s := daemonShell(t)
	r := s.result(3, "run", s.file("ask.yaml", asksToGoOn), "--json")
	approval := r.Waits[0].Approval
	if _, stderr := s.expect(2, "resume", r.RunID, "--yes"); !strings.Contains(stderr, "waits for an approval: Go on?") ||
		!strings.Contains(stderr, "kairos approve "+approval) || !strings.Contains(stderr, "kairos reject "+approval) {
		t.Error(stderr)
	}
	s.expect(0, "runs", "pause", r.RunID) // the approval comes first
	if _, stderr := s.expect(2, "resume", r.RunID, "--yes"); !strings.Contains(stderr, "waits for an approval: Go on?") {
		t.Error(stderr)
	}
}

// held: --release is required.
func TestResumeAHeldRun(t *testing.T) {
	t.Parallel()
	d, s := daemonShell(t)
	id := s.detached("wait", "id: sleeper\nnodes:\n  nap: {type: wait, input: {for: 1h}}\n")
	d.until(t, id, func(r domain.Run) bool { return r.WaitReason == domain.WaitTimer })
	if _, err := d.BackUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	data := filepath.Dir(s.env["KAIROS_DB"])
	d.end(t)
	files, err := filepath.Glob(filepath.Join(data, "backups", "*.db"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if _, stderr, code := runKairosd("restore", "--data", data, "--force", files[0]); code != 0 {
		t.Fatal(stderr)
	}
	d = serve(t, data)
	if _, stderr := s.expect(2, "resume", id, "--yes"); !strings.Contains(stderr, "is held") ||
		!strings.Contains(stderr, "kairos resume "+id+" --release") {
		t.Error(stderr)
	}
	if _, stderr := s.expect(2, "resume", id, "--release"); !strings.Contains(stderr, "--yes") {
		t.Error(stderr)
	}
	s.expect(0, "resume", id, "--release", "--yes", "--detach")
	d.until(t, id, func(r domain.Run) bool { return r.WaitReason == domain.WaitTimer })
	if _, stderr := s.expect(2, "resume", id, "--release", "--yes"); !strings.Contains(stderr, "neither quarantined nor held") {
		t.Error(stderr)
	}
}

// A completed run is not resumed.
func TestResumeACompletedRun(t *testing.T) {
	t.Parallel()
	_, s := daemonShell(t)
	r := s.result(0, "run", s.file("once.yaml", "id: once\nnodes:\n  a: {type: set, input: 42}\n"), "--json")
	if _, stderr := s.expect(2, "resume", r.RunID, "--yes"); !strings.Contains(stderr, "nothing to resume") {
		t.Error(stderr)
	}
	if _, stderr := s.expect(2, "resume", "no-such-run", "--yes"); !strings.Contains(stderr, "not found") {
		t.Error(stderr)
	}
}

// A resume is two requests: the preview, and the action with the revision and the digest of the preview.
func TestAResumeIsTwoRequests(t *testing.T) {
	t.Parallel()
	d, s := daemonShell(t)
	r := s.result(1, "run", s.file("bad.yaml", "id: bad\nnodes:\n  look: {type: json, input: {value: 1, path: bad}}\n"), "--json")
	token, _, code := runKairosd("token", "create", "--data", filepath.Dir(s.env["KAIROS_DB"]), "--role", "operator", "--name", "shell")
	if code != 0 {
		t.Fatal("no token")
	}
	address, err := url.Parse(d.url)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var seen []string
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(address) }}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		req.Body = io.NopCloser(strings.NewReader(string(body)))
		line := req.Method + " " + strings.ReplaceAll(req.URL.String(), domain.ShortID(r.RunID), "SHORT")
		if req.Header.Get("If-Match") != "" && strings.Contains(string(body), `"digest":"`) {
			line += " revision and digest"
		}
		mu.Lock()
		seen = append(seen, strings.ReplaceAll(line, r.RunID[:22], "LONG"))
		mu.Unlock()
		proxy.ServeHTTP(w, req)
	}))
	t.Cleanup(front.Close)
	s.env["KAIROS_SERVER"], s.env["KAIROS_TOKEN"] = front.URL, strings.TrimSpace(token)
	s.expect(0, "resume", domain.ShortID(r.RunID), "--yes", "--detach")
	mu.Lock()
	defer mu.Unlock()
	want := "POST /api/v1/runs/SHORT/resume?preview=true, POST /api/v1/runs/LONGSHORT/resume revision and digest"
	if got := strings.Join(seen, ", "); got != want {
		t.Errorf("the requests are\n%s, want\n%s", got, want)
	}
}
