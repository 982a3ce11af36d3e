package cli_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/kairosd"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
)

// output is the output of a running command.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	line chan string // closed after the first line
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(b)
	if first, _, ok := strings.Cut(o.text.String(), "\n"); ok && o.line != nil {
		o.line <- first
		o.line = nil
	}
	return len(b), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// serving is a daemon in this process.
type serving struct {
	*client.Client
	url  string
	log  *output
	out  *output // stdout
	stop context.CancelFunc
	code chan int
}

func runKairosd(args ...string) (stdout, stderr string, code int) {
	return runKairosdWith(strings.NewReader(""), args...)
}

// kairosdWith is kairosd with stdin.
func runKairosdWith(in io.Reader, args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	code = kairosd.Run(context.Background(), cli.Streams{In: in, Out: &out, Err: &errs, Env: func(string) string { return "" }}, args)
	return out.String(), errs.String(), code
}

// serve starts a daemon and waits until it is ready.
func serve(t *testing.T, data string, args ...string) *serving {
	t.Helper()
	return serveTo(t, nil, data, args...)
}

// serveTo is serve with a log of the test; nil: a log in memory.
func serveTo(t *testing.T, log io.Writer, data string, args ...string) *serving {
	t.Helper()
	return serveIn(t, func(string) string { return "" }, log, data, args...)
}

// serveIn is serveTo with an environment.
func serveIn(t *testing.T, env func(string) string, log io.Writer, data string, args ...string) *serving {
	t.Helper()
	first := make(chan string, 1)
	s := &serving{log: &output{}, code: make(chan int, 1)}
	if log == nil {
		log = s.log
	}
	out := &output{line: first}
	s.out = out
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	go func() {
		s.code <- kairosd.Run(ctx, cli.Streams{In: strings.NewReader(""), Out: out, Err: log, Env: env},
			append([]string{"serve", "--data", data, "--listen", "127.0.0.1:0"}, args...))
	}()
	select {
	case line := <-first:
		s.url = strings.TrimPrefix(line, "kairosd is ready at ")
	case code := <-s.code:
		t.Fatalf("serve ended with %d: %s", code, s.log)
	case <-time.After(2 * time.Minute):
		t.Fatalf("no ready line: %s", s.log)
	}
	s.Client = client.Unix(filepath.Join(data, "kairosd.sock"))
	t.Cleanup(func() { s.end(t) })
	return s
}

// end stops the daemon and returns its exit code.
func (s *serving) end(t *testing.T) int {
	t.Helper()
	s.stop()
	select {
	case code := <-s.code:
		s.code <- code
		if err := s.Client.Close(); err != nil {
			t.Error(err)
		}
		return code
	case <-time.After(2 * time.Minute):
		t.Fatal("the daemon does not end")
		return -1
	}
}

func (s *serving) get(t *testing.T, path string) (int, string) {
	t.Helper()
	r, err := http.Get(s.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

var ada = domain.Actor{Name: "ada", Role: domain.RoleAdmin}

func (s *serving) start(t *testing.T, src string) domain.Run {
	t.Helper()
	_, v, _, problems, err := s.SavePlan(t.Context(), []byte(src), "yaml", "upload", "")
	if err != nil {
		t.Fatalf("%v %v", err, problems)
	}
	r, err := s.Start(t.Context(), domain.StartRequest{Plan: v.PlanKey})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const waits = "id: waits\nnodes:\n  a: {type: approval, input: {message: Go on?}}\n"

// An operator creates a backup, loses data, restores the backup, checks it, and releases the runs.
func TestBackupRestoreRelease(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	d := serve(t, data)
	before := d.start(t, waits)
	if _, err := d.Wait(t.Context(), before.ID); err != nil {
		t.Fatal(err)
	}
	b, err := d.BackUp(t.Context())
	if err != nil || b.Rows["runs"] != 1 {
		t.Fatalf("backup: %+v, %v", b, err)
	}
	i, err := d.Server(t.Context())
	if err != nil || len(i.Backups) != 1 || i.OpenCount != 1 || i.Storage.Database == 0 || i.Hold != nil {
		t.Errorf("the system: %+v, %v", i, err)
	}
	lost := d.start(t, waits)
	files, err := filepath.Glob(filepath.Join(data, "backups", "*.db"))
	if err != nil || len(files) != 1 {
		t.Fatalf("backups: %v, %v", files, err)
	}
	if _, stderr, code := runKairosd("restore", "--data", data, "--force", files[0]); code != 4 ||
		!strings.Contains(stderr, "has the database open") {
		t.Errorf("O09: exit %d, %s", code, stderr)
	}
	if code := d.end(t); code != 0 {
		t.Errorf("serve ended with %d: %s", code, d.log)
	}
	if _, stderr, code := runKairosd("restore", "--data", data, files[0]); code != 2 || !strings.Contains(stderr, "--force") {
		t.Errorf("restore over a database: exit %d, %s", code, stderr)
	}
	if out, stderr, code := runKairosd("restore", "--dry-run", "--data", data, files[0]); code != 0 ||
		!strings.Contains(out, "can be restored") {
		t.Errorf("drill: exit %d, %s", code, stderr)
	}
	out, stderr, code := runKairosd("restore", "--data", data, "--force", files[0])
	if code != 0 || !strings.Contains(out, "1 unfinished runs are held") || !strings.Contains(out, " events are lost") {
		t.Fatalf("restore: exit %d\n%s%s", code, out, stderr)
	}

	d = serve(t, data)
	if _, err := d.FindRun(t.Context(), lost.ID); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("the run after the backup: %v", err)
	}
	r, err := d.FindRun(t.Context(), before.ID)
	if err != nil || r.WaitReason != domain.WaitHeld {
		t.Errorf("the run before the backup: %s %s, %v", r.Status, r.WaitReason, err)
	}
	if code, text := d.get(t, "/readyz"); code != 200 || !strings.Contains(text, "1 notice") {
		t.Errorf("readyz: %d %s", code, text)
	}
	i, err = d.Server(t.Context())
	if err != nil || i.Hold == nil || i.Hold.Reason != domain.HoldRestored || i.Held != 1 {
		t.Errorf("the system: %+v, %v", i.Hold, err)
	}
	fresh := d.start(t, "id: fresh\nnodes:\n  a: {type: set, input: 1}\n")
	if fresh.Status != domain.RunWaiting {
		t.Errorf("a run started during the hold is %s", fresh.Status)
	}
	s := &shell{t: t, dir: t.TempDir(), env: map[string]string{"KAIROS_DB": filepath.Join(data, "kairos.db"), "HOME": t.TempDir()}}
	if out, _ := s.expect(0, "server", "release", "--reason", "checked"); !strings.Contains(out, "2 runs released") {
		t.Errorf("release: %s", out)
	}
	if r, err := d.Wait(t.Context(), fresh.ID); err != nil || r.Status != domain.RunCompleted {
		t.Errorf("the new run: %s, %v", r.Status, err)
	}
	if r, err := d.Wait(t.Context(), before.ID); err != nil || r.WaitReason != domain.WaitApproval {
		t.Errorf("the old run: %s %s, %v", r.Status, r.WaitReason, err)
	}
	if out, _, code := runKairosd("doctor", "--data", data, "--json"); code != 0 {
		t.Errorf("doctor: %s", out)
	}
	var last struct{ Action, Reason string }
	export, _, code := runKairosd("audit", "export", "--data", data, "--people")
	for line := range strings.Lines(export) {
		var e struct{ Action, Reason string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Action == "store.released" {
			last = e
		}
	}
	if code != 0 || last.Reason != "checked" {
		t.Errorf("audit: exit %d, %+v", code, last)
	}
}

// Safe mode begins by a flag, or after three early crashes.
func TestSafeMode(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(data string) []string{
		"by hand": func(string) []string { return []string{"--safe"} },
		"after three young deaths": func(data string) []string {
			var b strings.Builder
			for i := range 3 {
				fmt.Fprintln(&b, time.Now().Add(-time.Duration(i)*time.Minute).UnixMilli())
			}
			written(t, data, "kairosd.starts", b.String())
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			d := serve(t, data, prepare(data)...)
			i, err := d.Server(t.Context())
			if err != nil || i.Safe == "" {
				t.Errorf("safe %q, %v", i.Safe, err)
			}
			s := newShell(t)
			out, _ := s.expect(0, "status", "--db", filepath.Join(data, "kairos.db"))
			if !strings.Contains(out, "safe mode") || strings.Contains(out, "nothing needs attention") {
				t.Errorf("kairos status in safe mode: %s", out)
			}
			kept, unwanted := d.start(t, "id: x\nnodes:\n  a: {type: set, input: 1}\n"), d.start(t, waits)
			if kept.Status != domain.RunQueued {
				t.Errorf("a new run is %s", kept.Status)
			}
			if r, err := d.Act(t.Context(), domain.ActionRequest{Run: unwanted.ID, Action: domain.ActionCancel}); err != nil ||
				r.Status != domain.RunCancelled {
				t.Errorf("cancel: %s, %v", r.Status, err)
			}
			if code := d.end(t); code != 0 {
				t.Errorf("exit %d: %s", code, d.log)
			}
			prepare(data)
			d = serve(t, data, "--crash-loop", "0")
			if i, err := d.Server(t.Context()); err != nil || i.Safe != "" {
				t.Errorf("safe %q although deaths are not minded, %v", i.Safe, err)
			}
			d.end(t)
			d = serve(t, data) // it ended normally, so the next start is normal
			if r, err := d.Wait(t.Context(), kept.ID); err != nil || r.Status != domain.RunCompleted {
				t.Errorf("the run that was kept: %s, %v", r.Status, err)
			}
		})
	}
}

// G14: a storage failure ends the daemon, and the next start reports the reason.
func TestFailedStorageStopsTheDaemonAndIsReportedAtTheNextStart(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	d := serve(t, data)
	db := filepath.Join(data, "kairos.db")
	if err := os.Rename(db, db+".moved"); err != nil {
		t.Fatal(err)
	}
	select {
	case code := <-d.code:
		d.code <- code
		if code != 74 {
			t.Errorf("exit %d, want 74: %s", code, d.log)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the daemon goes on without its database")
	}
	if err := os.Rename(db+".moved", db); err != nil {
		t.Fatal(err)
	}
	d = serve(t, data)
	i, err := d.Server(t.Context())
	if err != nil || !strings.Contains(i.LastFailure, "deleted or replaced") {
		t.Errorf("last failure %q, %v", i.LastFailure, err)
	}
}

// A typo in --data creates no database.
func TestMaintenanceNeedsADatabase(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"doctor"}, {"backup", "x"}, {"audit", "verify"}, {"audit", "export"}, {"retention"},
		{"retention", "--dry-run"}, {"migrate"}} {
		data := filepath.Join(t.TempDir(), "none")
		if _, stderr, code := runKairosd(append(args, "--data", data)...); code != 4 || !strings.Contains(stderr, "no database in") {
			t.Errorf("%v: exit %d, %s", args, code, stderr)
		}
		if _, err := os.Stat(data); err == nil {
			t.Errorf("%v makes a data directory", args)
		}
	}
}

func TestRetentionCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, config := filepath.Join(
		dir,
		"data",
	), written(
		t,
		dir,
		"kairos.yaml",
		"retention: {completed: 1ns, plans: {kept: {completed: 365d}}}",
	)
	d := serve(t, data, "--config", config)
	for _, id := range []string{"kept", "gone"} {
		r := d.start(t, "id: "+id+"\nnodes:\n  a: {type: set, input: 1}\n")
		if _, err := d.Wait(t.Context(), r.ID); err != nil {
			t.Fatal(err)
		}
	}
	if out, stderr, code := runKairosd("retention", "--data", data, "--config", config, "--dry-run"); code != 0 ||
		!strings.Contains(out, "to be deleted: 1 runs with 1 journal rows") {
		t.Errorf("beside the daemon, dry: exit %d, %s%s", code, out, stderr)
	}
	if out, stderr, code := runKairosd("retention", "--data", data); code != 0 || !strings.Contains(out, "gone") ||
		!strings.Contains(out, "1 runs with 1 journal rows") {
		t.Errorf("through the daemon: exit %d, %s%s", code, out, stderr)
	}
	d.end(t)
	if out, _, code := runKairosd("retention", "--data", data, "--config", config); code != 0 || !strings.Contains(out, "0 runs") {
		t.Errorf("without the daemon: exit %d, %s", code, out)
	}
}

// O03, O04, O07, O10, O11: an invalid start is refused with an exit code for service managers and a
// text for people.
func TestExitCodesOfServe(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	dir := t.TempDir()
	file := func(name, text string) string { return written(t, dir, name, text) }
	held := filepath.Join(dir, "held")
	serve(t, held)
	file("notadb/kairos.db", strings.Repeat("this is no database ", 500))
	file("walonly/kairos.db-wal", "x")
	keyless := filepath.Join(dir, "keyless")
	serve(t, keyless).end(t)
	if err := os.Remove(filepath.Join(keyless, "kairos.db.key")); err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(dir, "newer")
	serve(t, newer).end(t)
	db, err := sql.Open("sqlite", filepath.Join(newer, "kairos.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		code int
		args []string
	}{
		"an unknown flag":             {64, []string{"--nosuch"}},
		"an address that is none":     {64, []string{"--listen", "nowhere"}},
		"a typo in the configuration": {78, []string{"--config", file("typo.yaml", "retension: {}")}},
		"open to the network":         {78, []string{"--listen", "0.0.0.0:0"}},
		"a port in use":               {69, []string{"--listen", ln.Addr().String()}},
		"a second daemon":             {75, []string{"--data", held}},
		"no database":                 {65, []string{"--data", filepath.Join(dir, "notadb")}},
		"no key of the audit log":     {65, []string{"--data", keyless}},
		"a newer schema":              {78, []string{"--data", newer}},
		"an unknown type":             {78, []string{"--config", file("type.yaml", "engine: {max_nodes: many}")}},
		"a key twice":                 {78, []string{"--config", file("twice.yaml", "engine: {max_nodes: 3}\nengine: {max_nodes: 4}")}},
		"a log without its database":  {65, []string{"--data", filepath.Join(dir, "walonly")}},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"serve", "--data", filepath.Join(t.TempDir(), "d"), "--listen", "127.0.0.1:0"}, c.args...)
			_, stderr, code := runKairosd(args...)
			if code != c.code {
				t.Errorf("exit %d, want %d: %s", code, c.code, stderr)
			}
			if says := map[string]string{"a second daemon": fmt.Sprint(os.Getpid()), "a newer schema": "99999",
				"a key twice": "line 2", "an unknown type": "line 1",
				"a typo in the configuration": "did you mean retention"}[name]; !strings.Contains(
				stderr,
				says,
			) {
				t.Errorf("stderr does not contain %q: %s", says, stderr)
			}
		})
	}
	if _, stderr, code := runKairosd("audit", "new-key", "--data", keyless); code != 0 {
		t.Errorf("a new key: exit %d: %s", code, stderr)
	}
	if code := serve(t, keyless).end(t); code != 0 {
		t.Errorf("with a new key: exit %d", code)
	}
}
