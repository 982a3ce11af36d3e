package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/kairos"
)

// shell runs kairos in process on a database of its own.
type shell struct {
	t   *testing.T
	dir string
	env map[string]string
	// one of transports; empty: process
	transport string
	// width of the screen; 0: none
	width int
}

func newShell(t *testing.T) *shell {
	dir := t.TempDir()
	return &shell{t: t, dir: dir, env: map[string]string{"KAIROS_DB": filepath.Join(dir, "data", "kairos.db"), "HOME": dir}}
}

func (s *shell) file(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func (s *shell) run(args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	var out, err bytes.Buffer
	code = kairos.Run(
		context.Background(),
		cli.Streams{In: strings.NewReader(""), Out: &out, Err: &err, Width: s.width, Env: func(k string) string { return s.env[k] }},
		args,
	)
	return out.String(), err.String(), code
}

// expect runs a command and checks its exit code.
func (s *shell) expect(code int, args ...string) (stdout, stderr string) {
	s.t.Helper()
	stdout, stderr, got := s.run(args...)
	if got != code {
		s.t.Fatalf("kairos %s: exit %d, want %d\nstdout: %s\nstderr: %s", strings.Join(args, " "), got, code, stdout, stderr)
	}
	return stdout, stderr
}

const hello = `
id: hello-graph
start: step-1
nodes:
  step-1: {type: log, input: "hola ${input}"}
  step-2: {type: log, input: "mundo"}
edges:
  - {from: step-1, to: step-2}
`

// result is the object that `run --json` prints.
type result struct {
	RunID      string                     `json:"runId"`
	Status     string                     `json:"status"`
	WaitReason string                     `json:"waitReason"`
	Output     json.RawMessage            `json:"output"`
	Outputs    map[string]json.RawMessage `json:"outputs"`
	Path       []string                   `json:"path"`
	Error      *struct{ Code, Message, Node string }
	Waits      []struct{ Approval string }
}

func (s *shell) result(code int, args ...string) result {
	s.t.Helper()
	out, _ := s.expect(code, args...)
	var r result
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		s.t.Fatalf("kairos %s: not one JSON object: %v\n%s", strings.Join(args, " "), err, out)
	}
	return r
}

func TestRunPrintsTheResultAndNothingElse(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	plan := s.file("hello.yaml", hello)
	out, progress := s.expect(0, "run", "--plan", plan, "--prompt", "ana")
	if out != "mundo\n" || !strings.Contains(progress, "step-1") {
		t.Errorf("stdout %q, stderr %q", out, progress)
	}
	r := s.result(0, "run", "--plan", plan, "--prompt", "ana", "--json")
	if r.Status != "completed" || string(r.Outputs["step-1"]) != `"hola ana"` || strings.Join(r.Path, " ") != "step-1 step-2" {
		t.Errorf("%+v", r)
	}
	show, _ := s.expect(0, "show", r.RunID[20:], "--json")
	if !strings.Contains(show, `"journal"`) || !strings.Contains(show, `"decisions"`) {
		t.Errorf("show: %s", show)
	}
	if out, _ := s.expect(0, "runs"); strings.Count(out, "completed") != 2 {
		t.Errorf("runs: %s", out)
	}
	if out, _ := s.expect(0, "plans", "show", "hello-graph"); !strings.Contains(out, "mundo") {
		t.Errorf("plans show: %s", out)
	}
}

func TestAFailedRunIsResumedAfterTheCauseIsGone(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	data := filepath.Join(s.dir, "files")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	config := s.file("kairos.yaml", "tools: {files: {roots: [files]}}\n")
	plan := s.file("read.yaml", `
id: read
nodes:
  before: {type: set, input: 1}
  read: {type: read_file, input: {path: "numbers.txt"}}
edges: [{from: before, to: read}]
`)
	r := s.result(1, "run", "--plan", plan, "--config", config, "--json")
	if r.Status != "failed" || r.Error == nil || r.Error.Node != "read" {
		t.Fatalf("%+v", r)
	}
	if _, stderr := s.expect(0, "resume", r.RunID, "--preview", "--config", config); !strings.Contains(stderr, "1 kept, 1 again") {
		t.Errorf("preview: %s", stderr)
	}
	if err := os.WriteFile(filepath.Join(data, "numbers.txt"), []byte("42"), 0o600); err != nil {
		t.Fatal(err)
	}
	resumed := s.result(0, "resume", r.RunID, "--config", config, "--json", "--yes")
	if resumed.RunID != r.RunID || resumed.Status != "completed" {
		t.Errorf("%+v", resumed)
	}
}

func TestAnApprovalWaitsForAPerson(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	plan := s.file("pay.yaml", `
id: pay
nodes:
  ask: {type: approval, input: {message: "Pay 100?"}}
  paid: {type: set, input: "${output.ask.approved}"}
edges: [{from: ask, to: paid}]
`)
	r := s.result(3, "run", "--plan", plan, "--json")
	if r.WaitReason != "approval" || len(r.Waits) != 1 {
		t.Fatalf("%+v", r)
	}
	done := s.result(0, "approve", r.Waits[0].Approval, "--comment", "fine", "--json")
	if done.Status != "completed" || string(done.Output) != "true" {
		t.Errorf("%+v", done)
	}
	s.expect(0, "approve", r.Waits[0].Approval) // repeating the answer changes nothing
	s.expect(2, "reject", r.Waits[0].Approval, "--comment", "too late")
}

func TestThreeMistakesGiveThreeErrorsWithTheirLines(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	plan := s.file("bad.yaml", "id: bad\nnodes:\n  a: {tpye: set}\n  b: {type: nop}\nedges:\n  - {from: a, to: c}\n")
	out, _ := s.expect(2, "validate", plan, "--json")
	var v struct {
		Files []struct {
			Problems []struct {
				Severity, Message, Suggestion string
				Line                          int
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatal(err)
	}
	lines := map[int]bool{}
	for _, p := range v.Files[0].Problems {
		lines[p.Line] = true
	}
	if !lines[3] || !lines[4] || !lines[6] {
		t.Errorf("problems: %s", out)
	}
	if !strings.Contains(out, "did you mean type") || !strings.Contains(out, "did you mean noop?") {
		t.Errorf("no suggestion: %s", out)
	}
	_, stderr := s.expect(2, "run", "--plan", plan)
	if !strings.Contains(stderr, "bad.yaml:3:") {
		t.Errorf("stderr: %s", stderr)
	}
}

func TestForkWithAnEditedOutput(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	plan := s.file("fork.yaml", `
id: forkable
nodes:
  total: {type: set, input: 5}
  double: {type: calculator, input: {expression: "${output.total} * 2"}}
edges: [{from: total, to: double}]
`)
	r := s.result(0, "run", "--plan", plan, "--json")
	f := s.result(0, "fork", r.RunID, "--at", "1", "--edit", "total=21", "--json")
	if f.RunID == r.RunID || !strings.Contains(string(f.Output), "42") {
		t.Errorf("%+v", f)
	}
	again := s.result(0, "rerun", r.RunID, "--json")
	if again.RunID == r.RunID || string(again.Output) != string(r.Output) {
		t.Errorf("%+v", again)
	}
}

// A fork can replace steps with a recorded result or a stub. A resume can run one step, after which
// the run waits.
func TestForkWithOverridesAndResumeOfOneStep(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	plan := s.file("twice.yaml", `
id: twice
nodes:
  total: {type: set, input: 5}
  pay: {type: set, effect: unsafe, input: {paid: "${output.total}"}}
  end: {type: set, input: "${output.pay.paid}"}
edges: [{from: total, to: pay}, {from: pay, to: end}]
`)
	r := s.result(0, "run", "--plan", plan, "--json")
	if _, stderr := s.expect(0, "fork", r.RunID, "--at", "1", "--preview"); !strings.Contains(stderr, "repeated     pay (unsafe)") {
		t.Errorf("preview: %s", stderr)
	}
	if f := s.result(0, "fork", r.RunID, "--at", "1", "--reuse", "pay", "--json"); string(f.Output) != "5" {
		t.Errorf("reused: %+v", f)
	}
	if f := s.result(0, "fork", r.RunID, "--at", "1", "--stub", `pay={"paid": 7}`, "--json"); string(f.Output) != "7" {
		t.Errorf("stubbed: %+v", f)
	}
	s.expect(2, "fork", r.RunID, "--at", "1", "--stub", "pay", "--json")
	pair := s.file("pair.yaml", `
id: pair
on_failure: continue_branches
nodes:
  left: {type: json, input: {value: 1, path: bad}}
  right: {type: json, input: {value: 1, path: bad}}
  join: {type: set, needs: [left, right], input: 1}
`)
	failed := s.result(1, "run", "--plan", pair, "--json")
	if _, stderr := s.expect(0, "resume", failed.RunID, "--only", "right", "--attempts", "2", "--preview"); !strings.Contains(
		stderr,
		"1 again",
	) ||
		!strings.Contains(stderr, "later        left") {
		t.Errorf("preview: %s", stderr)
	}
	if paused := s.result(3, "resume", failed.RunID, "--only", "right", "--json", "--yes"); paused.WaitReason != "paused" {
		t.Errorf("%+v", paused)
	}
}

func TestMockedRunsTouchNothing(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	plan := s.file(
		"net.yaml",
		"id: net\nnodes:\n  get: {type: http, input: {method: POST, url: \"https://example.invalid/\"}}\n"+
			"  out: {type: set, input: \"${output.get.body}\"}\nedges: [{from: get, to: out}]\n",
	)
	mock := s.file("mock.yaml", "get: {output: {status: 200, body: hi}}\n")
	if out, _ := s.expect(0, "run", plan, "--mock", mock); out != "hi\n" {
		t.Errorf("got %q", out)
	}
	_, stderr := s.expect(1, "run", plan, "--mock", s.file("none.yaml", "{}\n"))
	if !strings.Contains(stderr, "no mock for step") || !strings.Contains(stderr, "the run is not stored") {
		t.Errorf("stderr %q", stderr)
	}
	ask := s.file("ask.yaml", "id: ask\nnodes:\n  ask: {type: approval, input: {message: Now?}}\n")
	_, waiting := s.expect(3, "run", ask, "--memory")
	if !strings.Contains(waiting, "ask requires an approval: Now?\n  the run is not stored") {
		t.Errorf("stderr %q", waiting)
	}
	if strings.Contains(stderr+waiting, "kairos ") {
		t.Errorf("a command cannot find a run that is not stored: %q %q", stderr, waiting)
	}
}

func TestUsageMistakesAreNamed(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"run"}, 2, "missing argument FILE or PLAN"},
		{[]string{"start", "hello"}, 2, "did you mean kairos run?"}, {[]string{"retry", "7qx2"}, 2, "did you mean kairos resume?"},
		{[]string{"frobnicate"}, 2, "unknown command"}, {[]string{"runs", "shwo"}, 2, "did you mean kairos runs show?"},
		{[]string{"run", "--plan", "nowhere.yaml"}, 2, "plan file nowhere.yaml not found"},
		{[]string{"show", "zzzz"}, 2, "run \"zzzz\" not found"},
		{[]string{"runs", "--status", "odd"}, 2, "unknown status"},
		{[]string{"run", "--plan", "x", "--bogus"}, 2, "unknown flag"},
		{[]string{"show"}, 2, "missing argument RUN\n  usage: kairos show RUN\n"},
		{[]string{"runs", "resolve", "7qx2"}, 2, "missing argument STEP\n  usage: kairos runs resolve RUN STEP"},
		{[]string{"approve"}, 2, "missing argument APPROVAL\n  usage: kairos approve APPROVAL…"},
		{[]string{"show", "a", "b"}, 2, "unexpected argument \"b\"\n  usage: kairos show RUN\n"},
		{[]string{"status", "now"}, 2, "unexpected argument \"now\"\n  usage: kairos status\n"},
		{[]string{"run", "x", "--prompt", "a", "--input", "1"}, 2, "use either --input or --prompt, not both"},
		{[]string{"failures", "ack", "--plan", "a"}, 2, "use --plan, --step and --error together"},
		{[]string{"failures", "unack"}, 2, "use either RUN, or --plan, --step, and --error"},
		{[]string{"runs", "--server", "http://127.0.0.1:1"}, 4, ""}, {[]string{"runs", "--config", "missing.yaml"}, 2, "configuration"},
	} {
		_, stderr, code := s.run(c.args...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit %d, want %d; stderr %q", c.args, code, c.code, stderr)
		}
	}
}

// The memory of a session is shown and cleared. A session without memory is an error that names it.
func TestASessionIsCleared(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	plan := s.file("plan.yaml", "nodes: {say: {type: set, input: \"you said ${input}\"}}\n")
	s.expect(0, "run", "--plan", plan, "--session", "ana/7", "--prompt", "hello")
	if out, _ := s.expect(0, "sessions"); !strings.Contains(out, "ana/7") || !strings.Contains(out, "  1  ") {
		t.Error(out)
	}
	if out, _ := s.expect(0, "sessions", "show", "ana/7"); !strings.Contains(out, "asked:    hello") ||
		!strings.Contains(out, "answered: you said hello") {
		t.Error(out)
	}
	if out, _ := s.expect(0, "sessions", "clear", "ana/7", "--reason", "asked to"); !strings.Contains(out, "cleared 1 exchanges of ana/7") {
		t.Error(out)
	}
	if _, stderr := s.expect(0, "sessions", "clear", "ana/7"); !strings.Contains(stderr, "has no memory") {
		t.Error(stderr)
	}
}
