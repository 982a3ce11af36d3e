package cli_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/kairos"
)

const spend = `
id: spend
limits: {max_steps: 1}
nodes:
  first: {type: set, input: 1}
  second: {type: set, needs: [first], input: 2}
`

// Without a terminal, a resume prints a preview and requires --yes. On a terminal it prompts.
func TestResumeIsConfirmed(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	r := s.result(1, "run", s.file("bad.yaml", "id: bad\nnodes:\n  look: {type: json, input: {value: 1, path: bad}}\n"), "--json")
	if _, stderr := s.expect(2, "resume", r.RunID); !strings.Contains(stderr, "1 again") || !strings.Contains(stderr, "--yes") {
		t.Error(stderr)
	}
	if stderr, code := s.typed("n\n", "resume", r.RunID); code != 2 || !strings.Contains(stderr,
		"Resume run "+r.RunID[len(r.RunID)-4:]+"? [y/N]") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if out, _ := s.expect(0, "runs", "steps", "plan:bad", "--json"); strings.Count(out, `"attempt":`) != 1 {
		t.Errorf("the run was resumed without a confirmation: %s", out)
	}
	if stderr, code := s.typed("y\n", "resume", r.RunID); code != 1 {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if _, stderr := s.expect(2, "resume", "--filter", "status:failed"); !strings.Contains(stderr, "resume: 1 of 1 matching run") ||
		!strings.Contains(stderr, "--yes") {
		t.Error(stderr)
	}
	s.expect(0, "resume", "--filter", "status:failed", "--yes")
}

// The state of a run decides what a resume does, for one run and for many.
func TestResumeByState(t *testing.T) {
	t.Parallel()
	everywhere(t, "", func(t *testing.T, s *shell) {
		limited := s.result(3, "run", s.file("spend.yaml", spend), "--json")
		if _, stderr := s.expect(2, "resume", limited.RunID, "--yes"); !strings.Contains(stderr, "max_steps") ||
			!strings.Contains(stderr, "kairos runs limits ") {
			t.Error(stderr)
		}
		s.expect(0, "runs", "pause", limited.RunID)
		if _, stderr := s.expect(3, "resume", limited.RunID, "--yes"); !strings.Contains(stderr, "unpause: ") ||
			!strings.Contains(stderr, "waits: budget") {
			t.Error(stderr)
		}
		s.expect(0, "runs", "pause", limited.RunID)
		if out, _ := s.expect(0, "resume", "--filter", "plan:spend", "--yes"); !strings.Contains(out, "1 of 1 done") {
			t.Error(out)
		}
		if out, _ := s.expect(0, "runs", "limits", limited.RunID, "--max-steps", "5"); out != "2\n" {
			t.Error(out)
		}
		if s.transport == "process" {
			return // without a server, nothing waits for the time of a scheduled run
		}
		out, _ := s.expect(0, "run", "spend", "--max-steps", "5", "--start-at", "2h", "--detach")
		id := strings.TrimSpace(out)
		if _, stderr := s.expect(2, "resume", id, "--yes"); !strings.Contains(stderr, "is scheduled for") ||
			!strings.Contains(stderr, "--now") {
			t.Error(stderr)
		}
		if out, _ := s.expect(0, "resume", id, "--now", "--yes"); out != "2\n" {
			t.Error(out)
		}
	})
}

// If a run changes after the preview, its resume is refused with exit code 2.
func TestAChangedRunIsNotResumed(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	r := s.result(1, "run", s.file("bad.yaml", "id: bad\nnodes:\n  look: {type: json, input: {value: 1, path: bad}}\n"), "--json")
	serve(t, filepath.Dir(s.env["KAIROS_DB"]))
	changing := &answering{then: func() {
		if _, stderr, code := s.run("resume", r.RunID, "--yes"); code != 1 { // another operator acts first
			t.Errorf("exit %d: %s", code, stderr)
		}
	}}
	var stderr strings.Builder
	code := kairos.Run(context.Background(), cli.Streams{In: changing, Out: &stderr, Err: &stderr, Interactive: true,
		Env: func(k string) string { return s.env[k] }},
		[]string{"resume", r.RunID})
	if code != 2 || !strings.Contains(stderr.String(), "has changed") {
		t.Errorf("exit %d: %s", code, &stderr)
	}
}

// answering calls a function, then answers yes.
type answering struct {
	then func()
	rest *strings.Reader
}

func (a *answering) Read(p []byte) (int, error) {
	if a.rest == nil {
		a.then()
		a.rest = strings.NewReader("y\n")
	}
	return a.rest.Read(p)
}

// Everything that needs attention is listed with its command.
func TestStatus(t *testing.T) {
	t.Parallel()
	everywhere(t, "", func(t *testing.T, s *shell) {
		if out, _ := s.expect(0, "status"); out != "nothing needs attention\n" {
			t.Error(out)
		}
		s.expect(1, "run", s.file("bad.yaml", "id: bad\nnodes:\n  look: {type: json, input: {value: 1, path: bad}}\n"))
		asks := s.result(3, "run", s.file("ask.yaml", "id: ask\nnodes:\n  ask: {type: approval, input: {message: \"Go on?\"}}\n"), "--json")
		s.expect(3, "run", s.file("spend.yaml", spend))
		out, _ := s.expect(0, "status")
		for _, want := range []string{
			"kairos approvals show " + asks.Waits[0].Approval, "Go on?", "budget", "kairos runs limits ", "failed",
			"look failed", "kairos show ",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
		if out, _ := s.expect(0, "status", "--json"); !strings.Contains(out, `"approvals":[{`) || !strings.Contains(out, `"failures":[{`) ||
			!strings.Contains(out, `"waiting":[{`) {
			t.Error(out)
		}
	})
}
