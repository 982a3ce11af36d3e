package cli_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/examples"
	"github.com/kairosd/kairosd/internal/buildinfo"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/kairos"
	"github.com/kairosd/kairosd/internal/cli/kairosd"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

const helloPlan = "id: hello\nnodes: {greet: {type: set, input: \"hello ${input}\"}}\n"

// A plan file is named as an argument, a stored plan by its key.
func TestRunTakesAFileOrAPlan(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	file := s.file("hello.yaml", helloPlan)
	if out, _ := s.expect(0, "run", file, "--prompt", "ana"); out != "hello ana\n" {
		t.Errorf("run FILE prints %q", out)
	}
	if out, _ := s.expect(0, "run", "hello", "--prompt", "bo"); out != "hello bo\n" {
		t.Errorf("run PLAN prints %q", out)
	}
	if out, _ := s.expect(0, "run", "hello@1", "--prompt", "cy"); out != "hello cy\n" {
		t.Errorf("run PLAN@VERSION prints %q", out)
	}
	order := s.file(
		"order.yaml",
		"id: order\ninput: {type: object, required: [amount], properties: {amount: {type: number, default: 7}, "+
			"note: {type: string}}}\nnodes: {a: {type: set, input: \"${input.amount}\"}}\n",
	)
	if out, _ := s.expect(0, "run", order); out != "7\n" {
		t.Errorf("a missing input takes the defaults of its schema: %q", out)
	}
	for args, want := range map[string]string{
		"run missing.yaml":                 "plan file missing.yaml not found",
		"run missing":                      "plan missing not found",
		"run hello@9":                      "list versions: kairos plans versions hello",
		"run":                              "missing argument FILE or PLAN",
		"run hello --plan hello":           "not both",
		"run " + file + " second-argument": `unexpected argument "second-argument"`,
	} {
		if _, stderr := s.expect(2, strings.Fields(args)...); !strings.Contains(stderr, want) {
			t.Errorf("kairos %s: %q does not contain %q", args, stderr, want)
		}
	}
}

// Without a daemon, nothing executes a run after the command has ended, so the run is not stored.
func TestDetachNeedsADaemon(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	file := s.file("hello.yaml", helloPlan)
	first := s.result(0, "run", file, "--prompt", "ana", "--json")
	for _, args := range [][]string{{"run", file, "--detach"}, {"run", "hello", "--detach"}, {"rerun", first.RunID, "--detach"}} {
		if _, stderr := s.expect(2, args...); !strings.Contains(stderr, "--detach requires a server") ||
			!strings.Contains(stderr, "kairosd serve") {
			t.Errorf("kairos %s: %q", strings.Join(args, " "), stderr)
		}
	}
	if out, _ := s.expect(0, "runs", "--json"); strings.Count(out, `"runId"`) != 1 {
		t.Errorf("a refused command stored a run: %s", out)
	}
}

// A fork requires the part of the run to keep.
func TestForkRequiresAPosition(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	first := s.result(0, "run", s.file("hello.yaml", helloPlan), "--prompt", "ana", "--json")
	if _, stderr := s.expect(2, "fork", first.RunID); !strings.Contains(stderr, "missing flag --at") ||
		!strings.Contains(stderr, "kairos show "+first.RunID) {
		t.Errorf("fork without --at: %q", stderr)
	}
	s.expect(0, "fork", first.RunID, "--at", "0")
}

// kairosd without --data uses the database that kairos uses without --db.
func TestBothProgramsShareADatabase(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	delete(s.env, "KAIROS_DB")
	s.expect(0, "run", s.file("hello.yaml", helloPlan), "--prompt", "ana")
	var out, stderr strings.Builder
	code := kairosd.Run(
		t.Context(),
		cli.Streams{In: strings.NewReader(""), Out: &out, Err: &stderr, Env: func(k string) string { return s.env[k] }},
		[]string{"audit", "verify"},
	)
	if code != 0 {
		t.Errorf("kairosd does not find the database of kairos: exit %d\n%s%s", code, out.String(), stderr.String())
	}
}

// typed runs kairos on a terminal with an answer on stdin.
func (s *shell) typed(answer string, args ...string) (stderr string, code int) {
	s.t.Helper()
	var out, errs strings.Builder
	code = kairos.Run(
		s.t.Context(),
		cli.Streams{
			In:          strings.NewReader(answer),
			Out:         &out,
			Err:         &errs,
			Interactive: true,
			Env:         func(k string) string { return s.env[k] },
		},
		args,
	)
	return errs.String(), code
}

// On a terminal, a destructive command prompts first.
func TestDestructiveCommandsAskOnATerminal(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	run := s.result(0, "run", s.file("hello.yaml", helloPlan), "--prompt", "ana", "--json").RunID
	if stderr, code := s.typed("n\n", "runs", "delete", run); code != 2 || !strings.Contains(stderr, "Delete "+run+"? [y/N]") ||
		!strings.Contains(stderr, "nothing changed") {
		t.Errorf("answered no: exit %d, %s", code, stderr)
	}
	if stderr, code := s.typed("", "runs", "delete", run); code != 2 {
		t.Errorf("not answered: exit %d, %s", code, stderr)
	}
	if stderr, code := s.typed("", "runs", "delete", run, "--preview"); code != 0 || strings.Contains(stderr, "[y/N]") {
		t.Errorf("a preview asks: exit %d, %s", code, stderr)
	}
	if out, _ := s.expect(0, "runs"); !strings.Contains(out, run) {
		t.Errorf("the run was deleted without a yes: %s", out)
	}
	if stderr, code := s.typed("yes\n", "runs", "delete", run); code != 0 {
		t.Errorf("answered yes: exit %d, %s", code, stderr)
	}
	second := s.result(0, "run", "hello", "--json").RunID
	if stderr, code := s.typed("", "runs", "delete", second, "--yes"); code != 0 || strings.Contains(stderr, "[y/N]") {
		t.Errorf("--yes: exit %d, %s", code, stderr)
	}
}

// -q leaves stderr empty, --version prints one line, and words are completed.
func TestCommonFlags(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	file := s.file("hello.yaml", helloPlan)
	if out, stderr := s.expect(0, "run", file, "--prompt", "ana", "-q"); out != "hello ana\n" || stderr != "" {
		t.Errorf("-q: stdout %q, stderr %q", out, stderr)
	}
	if out, _ := s.expect(0, "--version"); out != "kairos "+buildinfo.Version+"\n" {
		t.Errorf("--version prints %q", out)
	}
	run := s.result(0, "run", file, "--json").RunID
	for want, args := range map[string][]string{run: {"show", run[:4]}, "hello": {"run", "he"}, "failed": {"runs", "--status", "fa"}} {
		if out, _ := s.expect(0, append([]string{"__complete"}, args...)...); !strings.Contains(out, want) {
			t.Errorf("kairos %s is completed with %q, not %s", strings.Join(args, " "), out, want)
		}
	}
}

// Every kind of object is completed by its id or name.
func TestCompletion(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	file := s.file("hello.yaml", helloPlan)
	run := s.result(0, "run", file, "--json").RunID
	asks := s.result(3, "run", s.file("ask.yaml", "id: ask\nnodes: {ask: {type: approval, input: {message: \"Go on?\"}}}\n"), "--json")
	s.expect(0, "views", "save", "nightly", "plan:hello")
	s.expect(0, "runs", "label", run, "--set", "a=b")
	out, _ := s.expect(0, "operations", "--json")
	operation := anID.FindString(out)
	s.expect(0, "ask", "--plan-only", "what is the time?")
	drafts, _ := s.expect(0, "drafts", "--json")
	draft := anID.FindString(drafts)
	for want, args := range map[string][]string{
		operation:              {"operations", "show", ""},
		"nightly":              {"runs", "--view", ""},
		"nightly\tplan:hello":  {"views", "delete", ""},
		asks.Waits[0].Approval: {"approvals", "show", ""},
		"pending":              {"approvals", "--status", ""},
		"calculator":           {"tools", "disable", "calc"},
		"supervisor":           {"agents", "show", ""},
		"offline":              {"providers", "show", ""},
		"1\n":                  {"plans", "restore", "hello", ""},
		"ask\n":                {"plans", "graph", "a"},
		draft:                  {"drafts", "show", ""},
	} {
		if want == "" {
			t.Errorf("nothing to complete: %v", args)
		}
		if out, _ := s.expect(0, append([]string{"__complete"}, args...)...); !strings.Contains(out, want) {
			t.Errorf("kairos %s is completed with %q, not %q", strings.Join(args, " "), out, want)
		}
	}
}

// A signal is completed by the names that runs wait for, and a stored one by its id.
func TestCompletionOfSignals(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	data := filepath.Join(shortDir(t), "data")
	s.env["KAIROS_DB"] = filepath.Join(data, "kairos.db")
	serve(t, data)
	s.expect(0, "run", s.file("pay.yaml", "id: pay\nnodes: {pay: {type: wait, wait: {event: order-paid, timeout: 1h}}}\n"), "--detach")
	signal, _ := s.expect(0, "signals", "send", "other", "--json")
	completed := func(args ...string) string {
		out, _ := s.expect(0, append([]string{"__complete"}, args...)...)
		return out
	}
	if id := anID.FindString(signal); id == "" || !strings.Contains(completed("signals", "show", ""), id) {
		t.Errorf("signal %s is not completed", id)
	}
	for !strings.Contains(completed("signals", "send", ""), "order-paid\trun ") { // until the step waits
		if t.Context().Err() != nil {
			t.Fatal(t.Context().Err())
		}
	}
}

// A stored plan is drawn like a file.
func TestAStoredPlanIsDrawn(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	file := s.file("hello.yaml", helloPlan)
	s.expect(0, "plans", "add", file)
	drawn, _ := s.expect(0, "plans", "graph", file)
	for _, plan := range []string{"hello", "hello@1", "hello@v1"} {
		if out, _ := s.expect(0, "plans", "graph", plan); out != drawn || !strings.Contains(out, "greet") {
			t.Errorf("%s: %s", plan, out)
		}
	}
	for plan, want := range map[string]string{"hello@7": "kairos plans versions", "hello@x": "invalid version",
		"nothing": "plan nothing not found"} {
		if _, stderr := s.expect(2, "plans", "graph", plan); !strings.Contains(stderr, want) {
			t.Errorf("%s: %q does not contain %q", plan, stderr, want)
		}
	}
}

// A suggested command works on the database of the command that suggests it.
func TestSuggestedCommandsNameTheDatabase(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	db := filepath.Join(s.dir, "my data.db")
	file := s.file("ask.yaml", "id: ask\nnodes: {ask: {type: approval, input: {message: \"Go on?\"}}}\n")
	_, stderr := s.expect(3, "run", file, "--db", db)
	if !strings.Contains(stderr, " --db '"+db+"'") {
		t.Errorf("the suggested command does not name the database: %s", stderr)
	}
	if out, _ := s.expect(0, "status", "--db", db); !strings.Contains(out, " --db '"+db+"'") {
		t.Error(out)
	}
}

// A configuration file in the user's configuration directory needs no flag.
func TestConfigurationAtTheDefaultPath(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	dir := filepath.Join(s.dir, ".config", "kairos")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	written(t, dir, "kairos.yaml", "nonsense: true\n")
	if _, stderr := s.expect(2, "run", s.file("hello.yaml", helloPlan)); !strings.Contains(stderr, "nonsense") {
		t.Errorf("the file at the default path is not read: %s", stderr)
	}
	s.env["KAIROS_CONFIG"] = written(t, s.dir, "other.yaml", "")
	s.expect(0, "run", s.file("hello.yaml", helloPlan))
}

// A scheduled run shows its start time, in the list and on its own.
func TestAScheduledRunShowsItsTime(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	data := filepath.Join(shortDir(t), "data")
	s.env["KAIROS_DB"] = filepath.Join(data, "kairos.db")
	serve(t, data)
	out, _ := s.expect(0, "run", s.file("hello.yaml", helloPlan), "--start-at", "2190-01-31T06:00:00Z", "--detach")
	for _, args := range [][]string{{"runs"}, {"show", strings.TrimSpace(out)}} {
		if out, _ := s.expect(0, args...); !regexp.MustCompile(`starts +2190-01-31 06:00:00Z`).MatchString(out) {
			t.Errorf("kairos %s: %s", args[0], out)
		}
	}
	s.expect(0, "server", "maintenance", "on", "--reason", "test")
	ctx, cancel := context.WithCancel(t.Context())
	output := &waitWriter{text: "maintenance since", ok: make(chan struct{})}
	done := make(chan int, 1)
	go func() {
		done <- kairos.Run(ctx, cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: output,
			Env: func(k string) string { return s.env[k] }}, []string{"run", "hello"})
	}()
	select {
	case <-output.ok:
	case code := <-done:
		t.Errorf("start ended with %d before it named the maintenance", code)
	}
	cancel()
}

// waitWriter closes ok when text has been written.
type waitWriter struct {
	text string
	seen strings.Builder
	ok   chan struct{}
}

func (h *waitWriter) Write(b []byte) (int, error) {
	before := strings.Contains(h.seen.String(), h.text)
	h.seen.Write(b)
	if !before && strings.Contains(h.seen.String(), h.text) {
		close(h.ok)
	}
	return len(b), nil
}

// With --examples and no configuration, every example does what its page describes, without an input: it
// completes, or requests an approval.
func TestExamplesNeedNoConfiguration(t *testing.T) {
	t.Parallel()
	d := serve(t, filepath.Join(shortDir(t), "data"), "--examples")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	files, err := examples.Plans()
	if err != nil {
		t.Fatal(err)
	}
	asks := map[string]string{"support-triage": "refund", "invoice-files": "write_file"}
	for _, f := range files {
		src, err := planner.ParseYAML(f.Source)
		if err != nil {
			t.Fatal(f.Name, err)
		}
		t.Run(f.Name, func(t *testing.T) {
			run, err := d.Start(ctx, domain.StartRequest{Plan: src.ID})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.Wait(ctx, run.ID); err != nil {
				t.Fatal(err)
			}
			result, err := d.Result(ctx, run.ID)
			if err != nil {
				t.Fatal(err)
			}
			if want, ok := asks[src.ID]; ok {
				if result.WaitReason != domain.WaitApproval || len(result.Waits) != 1 || !strings.Contains(result.Waits[0].Message, want) {
					t.Errorf("%s, %s, %+v: it should ask about %q", result.Status, result.WaitReason, result.Waits, want)
				}
				return
			}
			if result.Status != domain.RunCompleted || strings.Contains(string(result.Output), "offline:") {
				t.Errorf("%s: %s %+v", result.Status, result.Output, result.Error)
			}
		})
	}
}

// is:deleted selects deleted runs; other lists leave them out.
func TestDeletedRunsAreListedSeparately(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	file := s.file("hello.yaml", helloPlan)
	gone, kept := s.result(0, "run", file, "--prompt", "a", "--json").RunID, s.result(0, "run", file, "--prompt", "b", "--json").RunID
	s.expect(0, "runs", "delete", gone)
	for filter, want := range map[string][2]bool{"plan:hello": {false, true}, "is:deleted": {true, false},
		"is:deleted plan:hello": {true, false}, "is:deleted status:completed": {true, false}, "is:deleted status:failed": {false, false}} {
		out, _ := s.expect(0, "runs", "--filter", filter)
		if got := [2]bool{strings.Contains(out, gone), strings.Contains(out, kept)}; got != want {
			t.Errorf("%s lists the deleted run: %v, the other: %v; want %v\n%s", filter, got[0], got[1], want, out)
		}
	}
}

// Commands of kairosd that end all access ask on a terminal.
func TestEndingAllAccessIsConfirmed(t *testing.T) {
	t.Parallel()
	data := filepath.Join(shortDir(t), "data")
	serve(t, data).end(t)
	key := filepath.Join(data, "kairos.db.key")
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	answered := func(answer string, args ...string) (string, int) {
		var out strings.Builder
		code := kairosd.Run(t.Context(), cli.Streams{In: strings.NewReader(answer), Out: &out, Err: &out, Interactive: true,
			Env: func(string) string { return "" }}, append(args, "--data", data))
		return out.String(), code
	}
	stderr, code := answered("n\n", "audit", "new-key")
	if _, err := os.Stat(key); code != 2 || err == nil || !strings.Contains(stderr, "End all access, and create a new key file? [y/N]") {
		t.Errorf("answered no: exit %d, %s", code, stderr)
	}
	stderr, code = answered("", "audit", "new-key", "--yes")
	if _, err := os.Stat(key); code != 0 || err != nil || strings.Contains(stderr, "[y/N]") {
		t.Errorf("--yes: exit %d, %v, %s", code, err, stderr)
	}
}

// On a terminal, the server begins with a sentence. Elsewhere, standard error has only the log.
func TestAServerOnATerminalBeginsWithASentence(t *testing.T) {
	t.Parallel()
	for _, terminal := range []bool{true, false} {
		var out, errs strings.Builder
		code := kairosd.Run(t.Context(), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Interactive: terminal,
			Env: func(string) string { return "" }}, []string{"serve", "--data", t.TempDir(), "--listen", "nowhere"})
		stderr := strings.HasPrefix(errs.String(), "kairosd is starting with the data in ")
		if code != 64 || stderr != terminal || out.Len() > 0 {
			t.Errorf("terminal %t: exit %d, %s%s", terminal, code, out.String(), errs.String())
		}
	}
}
