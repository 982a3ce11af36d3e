// Package crashtest kills the real daemon and checks its effects with a separate ledger.
package crashtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// ledger counts calls by idempotency key. A gate delays the answers, so that the daemon is killed
// while calls are in flight.
type ledger struct {
	mu    sync.Mutex
	calls map[string]int
	total int
	gate  chan struct{} // if it is closed, calls are answered at once
	seen  chan struct{}
}

func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	l.calls[r.Header.Get("Idempotency-Key")]++
	l.total++
	l.mu.Unlock()
	select {
	case l.seen <- struct{}{}:
	default:
	}
	if r.URL.Path == "/slow" {
		select {
		case <-l.gate:
		case <-r.Context().Done():
			return
		}
	}
	fmt.Fprint(w, `{"ok": true}`)
}

// sum returns the number of calls.
func (l *ledger) sum() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

func (l *ledger) count(key string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[key]
}

// daemon is a running kairosd.
type daemon struct {
	cmd *exec.Cmd
	api *client.Client
	url string
}

var (
	binaryDir string
	binary    = sync.OnceValues(func() (string, error) {
		bin := filepath.Join(binaryDir, "kairosd")
		if out, err := exec.Command("go", "build", "-o", bin, "github.com/kairosd/kairosd/cmd/kairosd").CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w\n%s", err, out)
		}
		return bin, nil
	})
)

func TestMain(m *testing.M) {
	code := func() int {
		var err error
		if binaryDir, err = os.MkdirTemp("", "kairos-crashtest-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(binaryDir) // a temporary directory; nothing depends on it
		return m.Run()
	}()
	os.Exit(code)
}

// build returns the path of the daemon's binary, which is built once for all tests.
func build(t *testing.T) string {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatalf("build kairosd: %v", err)
	}
	return bin
}

func start(t *testing.T, bin, data, config string, env ...string) *daemon {
	t.Helper()
	cmd := exec.Command(bin, "serve", "--data", data, "--listen", "127.0.0.1:0", "--config", config)
	cmd.Env = append(os.Environ(), env...)
	log, err := os.OpenFile(filepath.Join(data, "..", "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may have ended already
	lines := bufio.NewScanner(out)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "kairosd is ready at ") {
		b, _ := os.ReadFile(filepath.Join(data, "..", "log"))
		t.Fatalf("no ready line: %q\n%s", lines.Text(), b)
	}
	ready := lines.Text()
	go func() {
		for lines.Scan() { // keep the pipe empty
		}
	}()
	return &daemon{cmd, client.Unix(filepath.Join(data, "kairosd.sock")), strings.TrimPrefix(ready, "kairosd is ready at ")}
}

// follow returns a run when it is in the required state. It reads the run after each event.
func follow(ctx context.Context, api *client.Client, run string, until func(domain.Run) bool) error {
	for _, err := range api.Events(ctx, run, "0") {
		if err != nil {
			return err
		}
		if r, err := api.FindRun(ctx, run); err != nil || until(r) {
			return err
		}
	}
	return fmt.Errorf("run %s was never as it should be: %w", run, context.Cause(ctx))
}

// kill kills the daemon like a power failure, and waits until the process has ended.
func (d *daemon) kill(t *testing.T) {
	t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = d.cmd.Wait() // "signal: killed"
	if err := d.api.Close(); err != nil {
		t.Error(err)
	}
}

// runs is the number of runs in flight at the kill. $KAIROS_CRASH_RUNS overrides it.
func runs(t *testing.T) int {
	if n, err := strconv.Atoi(os.Getenv("KAIROS_CRASH_RUNS")); err == nil && n > 0 {
		return n
	}
	if testing.Short() {
		return 20
	}
	return 60
}

var actor = domain.Actor{Name: "test", Role: domain.RoleAdmin}

// A daemon is killed in the middle of many runs. After the restart, all of them finish
// automatically. No completed node runs twice, and no unsafe call is sent again without a person.
func TestKillDuringManyRuns(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	l := &ledger{calls: map[string]int{}, gate: make(chan struct{}), seen: make(chan struct{}, 1)}
	web := httptest.NewServer(l)
	defer web.Close()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "kairos.yaml")
	if err := os.WriteFile(config, []byte("tools: {http: {allow_private: [\"127.0.0.0/8\"]}}\n"+
		"engine: {max_running: 512, max_nodes: 512}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bin := build(t)
	d := start(t, bin, data, config)
	plan := func(id, effect string) string {
		return fmt.Sprintf(`
id: %[1]s
nodes:
  before: {type: http, effect: idempotent, input: {method: POST, url: "%[2]s/fast", body: {n: 1}}}
  middle: {type: http, effect: %[3]s, input: {method: POST, url: "%[2]s/slow", body: {n: 2}}}
  after: {type: http, effect: idempotent, input: {method: POST, url: "%[2]s/fast", body: {n: 3}}}
edges:
  - {from: before, to: middle}
  - {from: middle, to: after}
`, id, web.URL, effect)
	}
	n := runs(t)
	var ids []string
	for _, kind := range []string{"idempotent", "unsafe"} {
		if _, _, _, problems, err := d.api.SavePlan(ctx, []byte(plan(kind, kind)), planner.FormatYAML, "upload", ""); err != nil {
			t.Fatalf("%v %v", err, problems)
		}
	}
	for i := range n {
		kind := "idempotent"
		if i%4 == 0 {
			kind = "unsafe"
		}
		r, err := d.api.Start(ctx, domain.StartRequest{Plan: kind})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	// The second call of every run hangs in the ledger, so that all runs are in flight.
	for {
		l.mu.Lock()
		total := l.total
		l.mu.Unlock()
		if total == 2*n {
			break
		}
		select {
		case <-l.seen:
		case <-ctx.Done():
			t.Fatalf("only %d of %d calls arrived", total, 2*n)
		}
	}
	d.kill(t)
	close(l.gate)
	started := time.Now()
	d = start(t, bin, data, config)
	inDoubt := 0
	for _, id := range ids {
		r, err := d.api.Wait(ctx, id)
		if err != nil {
			t.Fatalf("run %s: %v", id, err)
		}
		if r.PlanKey == "unsafe" {
			if r.Status != domain.RunWaiting || r.WaitReason != domain.WaitInDoubt {
				t.Fatalf("unsafe run %s is %s %s, not in doubt", id, r.Status, r.WaitReason)
			}
			inDoubt++
			// The ledger shows that it happened.
			if _, err := d.api.Resolve(ctx, domain.ResolveRequest{Run: id, Node: "middle", Visit: 1, Item: -1, Attempt: 1,
				Action: "happened",
				Output: domain.RawJSON(`{"ok": true}`), Reason: "seen in the ledger"}); err != nil {
				t.Fatal(err)
			}
			if r, err = d.api.Wait(ctx, id); err != nil {
				t.Fatal(err)
			}
		}
		if r.Status != domain.RunCompleted {
			t.Fatalf("run %s is %s (%s) after the restart", id, r.Status, r.Headline)
		}
	}
	t.Logf(
		"%d runs in flight at the kill, %d in doubt, all done %s after the restart",
		n,
		inDoubt,
		time.Since(started).Round(time.Millisecond),
	)
	for _, id := range ids {
		l.judge(t, ctx, d, id)
	}
	d.kill(t)
}

// judge compares a run's journal with the ledger.
func (l *ledger) judge(t *testing.T, ctx context.Context, d *daemon, id string) {
	t.Helper()
	journal, err := d.api.Journal(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	finals := map[string]int{}
	attempts := map[string]int{}
	keys := map[string]string{}
	unsafe := map[string]bool{}
	for _, e := range journal {
		if e.Kind == domain.EntryIntent {
			attempts[e.Node] = max(attempts[e.Node], e.Attempt)
			unsafe[e.Node] = e.Effect == string(walk.EffectUnsafe)
			if keys[e.Node] != "" && keys[e.Node] != e.IdempotencyKey {
				t.Errorf("run %s node %s: the idempotency key changed between attempts", id, e.Node)
			}
			keys[e.Node] = e.IdempotencyKey
		}
		if e.Final {
			finals[e.Node]++
		}
	}
	for _, node := range []string{"before", "middle", "after"} {
		calls := l.count(keys[node])
		switch {
		case finals[node] != 1:
			t.Errorf("run %s node %s: %d outcomes recorded, want 1", id, node, finals[node])
		case calls > attempts[node]:
			t.Errorf("run %s node %s: called %d times in %d attempts", id, node, calls, attempts[node])
		case node != "middle" && calls != 1:
			t.Errorf("run %s node %s was completed, yet called %d times", id, node, calls)
		case unsafe[node] && calls != 1:
			t.Errorf("run %s unsafe node %s: sent %d times", id, node, calls)
		}
	}
}

// Two daemons race for one directory: one serves, and the other names the process that does.
func TestASecondDaemonRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "kairos.yaml")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	bin := build(t)
	d := start(t, bin, data, config)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a daemon that serves would not end
	defer cancel()
	out, err := exec.CommandContext(ctx, bin, "serve", "--data", data, "--listen", "127.0.0.1:0").CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		t.Fatalf("the second daemon: %v\n%s", err, out)
	}
	if code := exit.ExitCode(); code != 75 || !strings.Contains(string(out), fmt.Sprintf("process %d", d.cmd.Process.Pid)) {
		t.Errorf("exit %d: %s", code, out)
	}
	d.kill(t)
	start(t, bin, data, config).kill(t)
}
