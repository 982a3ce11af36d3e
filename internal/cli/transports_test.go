package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/kairos"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
)

// transports are the ways in which a command reaches the API.
var transports = map[string]func(t *testing.T, s *shell, served *serving, data string){
	"process": nil, // no daemon
	"socket": func(_ *testing.T, s *shell, _ *serving, data string) {
		s.env["KAIROS_DB"] = filepath.Join(data, "kairos.db")
	},
	"network": func(t *testing.T, s *shell, served *serving, data string) {
		token, _, code := runKairosd("token", "create", "--data", data, "--role", "admin", "--name", "shell")
		if code != 0 {
			t.Fatal("no token")
		}
		s.env["KAIROS_SERVER"], s.env["KAIROS_TOKEN"] = served.url, strings.TrimSpace(token)
	},
}

// everywhere runs a test over each transport: in the process of the command, through the socket of
// a daemon, and over the network. config is the path of a configuration, or its text.
func everywhere(t *testing.T, config string, story func(t *testing.T, s *shell)) {
	t.Helper()
	for name, through := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShell(t)
			s.through(t, name, through, config)
			story(t, s)
		})
	}
}

// through makes a shell use a transport.
func (s *shell) through(t *testing.T, name string, use func(*testing.T, *shell, *serving, string), config string) {
	t.Helper()
	if config != "" && !strings.HasPrefix(config, "/") {
		config = s.file("kairos.yaml", config)
	}
	if s.transport = name; use == nil {
		s.env["KAIROS_CONFIG"] = config
		return
	}
	data, args := filepath.Join(s.dir, "served"), []string{}
	if config != "" {
		args = []string{"--config", config}
	}
	use(t, s, serve(t, data, args...), data)
}

// parityPlans are the files of the parity table.
var parityPlans = map[string]string{
	"chain.yaml": "id: chain\nnodes:\n  a: {type: set, input: \"got ${input}\"}\n  b: {type: log, input: \"${output.a}\"}\n" +
		"  c: {type: set, input: {n: 12345678901234567890.10}}\nedges: [{from: a, to: b}, {from: b, to: c}]\n",
	"bad.yaml": "id: bad\nnodes:\n  look: {type: json, input: {value: 1, path: bad}}\n",
	"ask.yaml": "id: ask\nnodes:\n  ask: {type: approval, input: {message: \"Go on?\"}}\n" +
		"  done: {type: set, needs: [ask], input: \"${output.ask.approved}\"}\n",
	"wrong.yaml": "id: wrong\nnodes:\n  a: {tpye: set}\n",
	"mock.yaml":  "get: {output: 42}\n",
	"none.yaml":  "{}\n",
	"net.yaml":   "id: net\nnodes:\n  get: {type: http, input: {method: POST, url: \"https://example.invalid/\"}}\n",
}

// parity lists commands with their exit codes, in order. {name} is the id of the run of an earlier
// line, and {dir} is the directory of the files.
var parity = []struct {
	name string // the name of the run that this line starts
	code int
	args string
}{
	{"", 0, "runs"},
	{"chain", 0, "run --plan {dir}/chain.yaml --prompt Ana --json"},
	{"", 0, "run --plan {dir}/chain.yaml --prompt Ana"},
	{"", 0, "run chain@1 --prompt Ana --label a=b --session s"},
	{"bad", 1, "run --plan {dir}/bad.yaml --json"},
	{"", 1, "run {dir}/bad.yaml"},
	{"ask", 3, "run --plan {dir}/ask.yaml --json"},
	{"", 3, "run --plan {dir}/ask.yaml"},
	{"", 2, "run --plan {dir}/wrong.yaml"},
	{"", 2, "run nobody"},
	{"", 0, "run chain --prompt Ana --key k"},
	{"", 0, "run chain --prompt Ana --key k"},
	{"", 2, "run nobody"},
	{"", 2, "run chain --max-steps -1"},
	{"", 0, "run {dir}/net.yaml --dry-run"},
	{"", 2, "run {dir}/wrong.yaml --dry-run"},
	{"", 1, "run {dir}/net.yaml --mock {dir}/none.yaml --json"},
	{"", 0, "run {dir}/net.yaml --mock {dir}/mock.yaml"},
	{"", 0, "show {chain}"},
	{"", 0, "show {chain} --json"},
	{"", 0, "show {bad}"},
	{"", 0, "show {ask}"},
	{"", 2, "show nobody"},
	{"", 2, "show x"},
	{"", 0, "logs {chain}"},
	{"", 0, "logs {chain} -f --json"},
	{"", 0, "runs --status failed,waiting"},
	{"", 0, "runs --filter plan:chain --json"},
	{"", 2, "runs --filter plam:chain"},
	{"", 2, "runs --cursor nonsense"},
	{"", 2, "runs --limit 0"},
	{"", 0, "failures"},
	{"", 0, "runs steps plan:chain node:a"},
	{"", 0, "runs compare {chain}"},
	{"", 0, "runs note {bad} known"},
	{"", 0, "runs note {bad}"},
	{"", 0, "failures ack {bad} --note quota"},
	{"", 0, "runs label {bad} {chain} --set ticket=1"},
	{"", 0, "resume {bad} --preview"},
	{"", 1, "resume {bad} --yes"},
	{"", 2, "resume {chain} --yes"},
	{"", 0, "rerun {chain} --input 7"},
	{"", 0, "fork {chain} --at 2 --edit a=\"x\""},
	{"", 2, "fork {chain} --at 999"},
	{"", 2, "runs pause {chain}"},
	{"", 0, "approvals"},
	{"", 0, "approvals show {ask}"},
	{"", 3, "runs limits {ask} --max-steps 100"},
	{"", 2, "runs limits {ask} --max-steps -1"},
	{"", 0, "approve {ask} --comment fine"},
	{"", 2, "approve {ask}"},
	{"", 0, "runs delete {chain}"},
	{"", 0, "runs delete {chain}"},
	{"", 0, "plans"},
	{"", 0, "plans show chain"},
	{"", 0, "plans versions chain"},
	{"", 2, "plans show nobody"},
	{"", 2, "plans diff chain 1 9"},
	{"", 0, "tools call calculator --input {\"expression\":\"6*7\"}"},
	{"", 2, "tools show nobody"},
	{"", 0, "tools disable http --reason why"},
	{"", 0, "tools enable http"},
	{"", 0, "agents"},
	{"", 0, "providers"},
	{"", 2, "audit show 99999"},
	{"", 0, "sessions"},
	{"", 0, "server release"},
}

// Everything that differs between runs or callers is replaced: ids, hashes, times, actors, and
// origins.
var (
	anID     = regexp.MustCompile(`\b[0-9a-z]{26}\b`)
	replaced = []struct {
		what *regexp.Regexp
		by   string
	}{
		{anID, "<id>"},
		{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "<hash>"},
		{
			regexp.MustCompile(
				`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( ?Z|[+-]\d\d:\d\d| [A-Z]+)?|\b\d\d:\d\d:\d\d\.\d+|\b[\d.]+ ?(ms|µs|us|s)\b`,
			),
			"<time>",
		},
		{regexp.MustCompile(`(?m) -( |$)`), " <time> "},          // shorter than the shown unit
		{regexp.MustCompile(`(?m)^ +running: \d+ of \d+\n`), ""}, // progress that a fast command does not print
		{regexp.MustCompile(`"(\w*Ms|traceId|eventSeq|auditSeq)":("[^"]*"|-?\d+)|"key":"request-[^"]*",`), ""},
		{regexp.MustCompile(`cli:[\w-]+|token shell( <id>)?`), "<actor>"},
		{regexp.MustCompile(`"(origin|source)":"\w+"`), "<origin>"},
		{regexp.MustCompile(`<actor> +(upload|cli)\b`), "<actor> <origin>"},
		{regexp.MustCompile(` {2,}|-{2,}`), " "},
	}
)

// normal returns the output of a command without these differences. ids are those that it or an
// earlier command printed.
func normal(text, dir string, ids map[string]bool) string {
	for _, id := range anID.FindAllString(text, -1) {
		ids[id] = true
	}
	text = strings.ReplaceAll(text, dir, "<dir>")
	for id := range ids {
		text = regexp.MustCompile(`\b`+domain.ShortID(id)+`\b`).ReplaceAllString(text, "<short>")
	}
	for _, r := range replaced {
		text = r.what.ReplaceAllString(text, r.by)
	}
	return text
}

// Every command has the same output and exit code in its own process, over the socket of a daemon,
// and over the network. Progress has the same order.
func TestParity(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	printed := map[string][]string{}
	t.Run("transports", func(t *testing.T) {
		everywhere(t, "", func(t *testing.T, s *shell) {
			for name, text := range parityPlans {
				s.file(name, text)
			}
			runs := []string{"{dir}", s.dir}
			ids := map[string]bool{}
			var out []string
			for _, line := range parity {
				args := strings.Fields(strings.NewReplacer(runs...).Replace(line.args))
				stdout, stderr, code := s.run(args...)
				if code != line.code {
					t.Errorf("kairos %s: exit %d, want %d\n%s%s", line.args, code, line.code, stdout, stderr)
				}
				if line.name != "" {
					var r result
					if err := json.Unmarshal([]byte(stdout), &r); err != nil {
						t.Fatalf("kairos %s: %v: %s", line.args, err, stdout)
					}
					runs = append(runs, "{"+line.name+"}", r.RunID)
				}
				out = append(out, normal(stdout, s.dir, ids)+"\n--- stderr\n"+normal(stderr, s.dir, ids))
			}
			mu.Lock()
			defer mu.Unlock()
			printed[s.transport] = out
		})
	})
	for name := range transports {
		for i, line := range parity {
			if want, got := printed["process"], printed[name]; len(got) == len(want) && len(got) == len(parity) && got[i] != want[i] {
				t.Errorf("kairos %s\n=== %s:\n%s\n=== process:\n%s", line.args, name, got[i], want[i])
			}
		}
	}
}

// A list continues where its previous page ended, also for a time in the past.
func TestParityOfPages(t *testing.T) {
	t.Parallel()
	everywhere(t, "", func(t *testing.T, s *shell) {
		plan := s.file("a.yaml", greeting)
		seen := map[string]bool{}
		for range 3 {
			r := s.result(0, "run", "--plan", plan, "--prompt", "Ana", "--label", "team=a b", "--json")
			seen[r.RunID] = true
		}
		for _, flags := range [][]string{nil, {"--since", "24h"}, {"--since", "24h", "--plan", "greet", "--status",
			"completed,failed", "--label", "team=a b"}} {
			left, cursor := len(seen), ""
			for pages := 0; left > 0 && pages < 4; pages++ {
				args := append([]string{"runs", "--limit", "1", "--json"}, flags...)
				if cursor != "" {
					args = append(args, "--cursor", cursor)
				}
				var page struct {
					Items      []struct{ RunID string }
					NextCursor string
					HasMore    bool
				}
				if s.json(&page, args...); len(page.Items) != 1 || !seen[page.Items[0].RunID] {
					t.Fatalf("%v: %+v", args, page)
				}
				left, cursor = left-1, page.NextCursor
				if page.HasMore != (cursor != "") {
					t.Errorf("hasMore is %v, and the cursor is %q", page.HasMore, cursor)
				}
			}
			if left > 0 || cursor != "" {
				t.Errorf("%v: %d runs are missing; next is %q", flags, left, cursor)
			}
		}
	})
}

// An interrupted command leaves its run resumable, or to the daemon, and prints which.
func TestParityOfInterrupts(t *testing.T) {
	t.Parallel()
	everywhere(t, "", func(t *testing.T, s *shell) {
		plan := s.file(
			"slow.yaml",
			"id: slow\nnodes:\n  first: {type: set, input: 1}\n  nap: {type: sleep, needs: [first], input: {for: 3s}}\n"+
				"  then: {type: set, needs: [nap], input: 2}\n",
		)
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		var out bytes.Buffer
		errs := &watched{seen: func(text string) {
			if strings.Contains(text, "ok       first") {
				interrupt()
			}
		}}
		code := kairos.Run(
			ctx,
			cli.Streams{In: strings.NewReader(""), Out: &out, Err: errs, Env: func(k string) string { return s.env[k] }},
			[]string{"run", "--plan", plan},
		)
		want := "the run continues on the server"
		if s.transport == "process" {
			want = "continue the run: kairos resume"
		}
		if code != 4 || out.Len() > 0 || !strings.Contains(errs.String(), want) {
			t.Fatalf("exit %d, stdout %q, stderr %s", code, out.String(), errs)
		}
		id := anID.FindString(errs.String())
		if s.transport == "process" {
			if _, stderr := s.expect(0, "runs"); !strings.Contains(stderr, "is unfinished; continue it: kairos resume") {
				t.Error(stderr)
			}
			s.expect(0, "resume", id, "--yes")
		} else {
			s.expect(0, "logs", id, "-f")
		}
		if out, _ := s.expect(0, "show", id); !strings.Contains(out, "completed") {
			t.Error(out)
		}
	})
}

// watched is an output that the test reads during the command.
type watched struct {
	mu   sync.Mutex
	text bytes.Buffer
	seen func(text string)
}

func (w *watched) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.text.Write(b)
	w.seen(w.text.String())
	return n, err
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// Without a daemon, a command that needs one is refused, with the command that starts it.
func TestParityOfDetached(t *testing.T) {
	t.Parallel()
	everywhere(t, "", func(t *testing.T, s *shell) {
		plan := s.file("a.yaml", greeting)
		if s.transport != "process" {
			out, _ := s.expect(0, "run", "--plan", plan, "--prompt", "Ana", "--detach")
			s.expect(0, "logs", strings.TrimSpace(out), "-f")
			s.expect(0, "server")
			return
		}
		for _, args := range [][]string{{"run", "--plan", plan, "--detach"}, {"run", "greet", "--detach"}} {
			if out, stderr := s.expect(2, args...); out != "" || !strings.Contains(stderr, "kairosd serve") {
				t.Errorf("%v: %s%s", args, out, stderr)
			}
		}
		for _, args := range [][]string{{"server"}, {"server", "logs"}, {"server", "maintenance", "on"}, {"server", "backup"}} {
			if out, stderr := s.expect(4, args...); out != "" || !strings.Contains(stderr, "no daemon is running for") ||
				!strings.Contains(stderr, "kairosd serve") {
				t.Errorf("%v: %s%s", args, out, stderr)
			}
		}
	})
}

// A command refuses a database that another process has open if no daemon serves its socket.
func TestParityOfLocks(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.expect(0, "run", "--plan", s.file("a.yaml", greeting), "--prompt", "Ana")
	db, err := store.Open(t.Context(), s.env["KAIROS_DB"], store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if out, stderr := s.expect(4, "runs"); out != "" || !strings.Contains(stderr, "has the database open") {
		t.Errorf("%s%s", out, stderr)
	}
	s.expect(0, "run", "--memory", "--plan", s.file("a.yaml", greeting), "--prompt", "Ana")
}

// On a full disk, stored data can be read, and nothing is written.
func TestParityOnAFullDisk(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	plan := s.file("a.yaml", greeting)
	r := s.result(0, "run", "--plan", plan, "--prompt", "Ana", "--json")
	full := func(ctx context.Context, path string, o recovery.Options) (*store.Store, error) {
		if !o.ReadOnly {
			return nil, domain.Errorf(domain.CodeNoSpace, "the disk is full")
		}
		return recovery.Open(ctx, path, o)
	}
	run := func(args ...string) (string, string, int) {
		var out, errs bytes.Buffer
		code := kairos.Opening(
			full,
		)(
			t.Context(),
			cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Env: func(k string) string { return s.env[k] }},
			args,
		)
		return out.String(), errs.String(), code
	}
	for _, args := range [][]string{{"runs"}, {"show", r.RunID}, {"logs", r.RunID}, {"plans"}, {"failures"}} {
		out, stderr, code := run(args...)
		if code != 0 || !strings.Contains(stderr, "open for reading only: the disk is full") || args[0] != "failures" && out == "" {
			t.Errorf("%v: exit %d\n%s%s", args, code, out, stderr)
		}
	}
	for _, args := range [][]string{{"run", "--plan", plan, "--prompt", "Ana"}, {"runs", "note", r.RunID, "why"},
		{"runs", "delete", r.RunID}, {"plans", "pause", "greet"}} {
		if out, stderr, code := run(args...); code != 2 && code != 4 || out != "" || strings.Count(stderr, "\n") < 2 {
			t.Errorf("%v: exit %d\n%s%s", args, code, out, stderr)
		}
	}
	if out, _ := s.expect(0, "runs"); strings.Count(out, "completed") != 1 {
		t.Errorf("something was written: %s", out)
	}
}

// A database in memory leaves nothing on the disk.
func TestParityInMemory(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	plan := s.file("a.yaml", greeting)
	began := time.Now()
	if out, _ := s.expect(0, "run", "--memory", "--plan", plan, "--prompt", "Ana"); out != "hello Ana\n" {
		t.Errorf("printed %q after %s", out, time.Since(began))
	}
	if r := s.result(3, "run", "--memory", "--plan", s.file("ask.yaml", parityPlans["ask.yaml"]), "--json"); r.WaitReason != "approval" {
		t.Errorf("%+v", r)
	}
	s.expect(0, "run", "--memory", "--dry-run", plan, "--prompt", "Ana")
	long := strings.Repeat("x", 100_000)
	if out, _ := s.expect(0, "run", "--memory", "--dry-run", plan, "--prompt", long); out != "hello "+long+"\n" {
		t.Errorf("a long input comes back as %d bytes", len(out))
	}
	s.expect(1, "run", "--memory", "--plan", s.file("bad.yaml", parityPlans["bad.yaml"]))
	if _, err := os.Stat(filepath.Dir(s.env["KAIROS_DB"])); !os.IsNotExist(err) {
		t.Errorf("the directory of the database: %v", err)
	}
}
