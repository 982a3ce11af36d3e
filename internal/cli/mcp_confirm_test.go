package cli_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

// A person on the machine of the server confirms the previewed action of a program.
func TestAPersonConfirmsAnAction(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	data := filepath.Join(shortDir(t), "data")
	s.env["KAIROS_DB"] = filepath.Join(data, "kairos.db")
	serve(t, data)
	s.expect(1, "run", s.file("no.yaml", "id: no\nnodes: {no: {type: fail, input: {message: \"no\"}}}\n"))
	out, _ := s.expect(0, "runs", "--status", "failed")
	run := anID.FindString(out)
	out, _ = s.expect(0, "resume", run, "--preview", "--json")
	var p domain.Preview
	if err := json.Unmarshal([]byte(out), &p); err != nil || p.Digest == "" {
		t.Fatalf("%v: %s", err, out)
	}
	if _, problem := s.expect(2, "mcp", "confirm", run, "resume", "stale"); !strings.Contains(problem, "the preview has changed") {
		t.Error(problem)
	}
	out, _ = s.expect(0, "mcp", "confirm", run, "resume", p.Digest, "--reason", "the cause is repaired")
	if !strings.Contains(out, "confirmed: resume "+run) {
		t.Error(out)
	}
	if log, _ := s.expect(0, "audit", "action:run.confirm"); !strings.Contains(log, "the cause is repaired") {
		t.Error(log)
	}
}

// A person lists and refuses what a program asks for.
func TestAPersonRefusesAnAction(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	if out, _ := s.expect(0, "mcp", "requests"); !strings.Contains(out, "no MCP client asks for an action") {
		t.Error(out)
	}
	s.expect(1, "run", s.file("no.yaml", "id: no\nnodes: {no: {type: fail, input: {message: \"no\"}}}\n"))
	out, _ := s.expect(0, "runs", "--status", "failed")
	run := anID.FindString(out)
	if out, _ := s.expect(0, "mcp", "refuse", run, "rerun", "abc", "--reason", "not today"); !strings.Contains(out, "refused: rerun "+run) {
		t.Error(out)
	}
	if log, _ := s.expect(0, "audit", "action:run.refuse"); !strings.Contains(log, "not today") {
		t.Error(log)
	}
}
