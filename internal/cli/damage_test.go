package cli_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/store/storetest"
)

// The CLI shows the intact part of a damaged journal, refuses to resume the run, and prints the
// fork that continues it.
func TestADamagedRunAtTheCommandLine(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	plan := s.file("billing.yaml", `
id: billing
nodes:
  fetch: {type: set, input: "the order"}
  pay: {type: set, effect: unsafe, input: "receipt 4711"}
  book: {type: set, effect: idempotent, input: "booked"}
  gate: {type: approval, input: {message: "go on?"}}
edges: [{from: fetch, to: pay}, {from: pay, to: book}, {from: book, to: gate}]
`)
	r := s.result(3, "run", "--plan", plan, "--json")
	storetest.Alter(t, s.env["KAIROS_DB"], `UPDATE step_results SET output = '"receipt 4712"' WHERE node = 'pay' AND final = 1`)
	out, _ := s.expect(0, "show", r.RunID)
	var row, at int
	if i := strings.Index(out, "damaged: journal row "); i < 0 {
		t.Fatalf("show: %s", out)
	} else if _, err := fmt.Sscanf(out[i:], "damaged: journal row %d", &row); err != nil {
		t.Fatal(err)
	}
	if i := strings.Index(out, "\ncheckpoint "); i < 0 {
		t.Fatalf("show: %s", out)
	} else if _, err := fmt.Sscanf(out[i+1:], "checkpoint %d (after fetch) is the last good one", &at); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if strings.Contains(out, "receipt 4712") || !strings.Contains(out, "after it: pay (unsafe) outcome unknown") ||
		!strings.Contains(out, "after it: book (idempotent) completed") {
		t.Errorf("show: %s", out)
	}
	if out, _ := s.expect(0, "show", r.RunID, "--json"); !strings.Contains(out, `"damage":`) {
		t.Errorf("show --json: %s", out)
	}
	if _, stderr, code := s.run("resume", r.RunID, "--yes"); code == 0 ||
		!strings.Contains(stderr, fmt.Sprintf("journal row %d is damaged", row)) ||
		!strings.Contains(stderr, fmt.Sprintf("--at %d --preview", at)) {
		t.Errorf("resume: exit %d, %s", code, stderr)
	}
	if _, stderr := s.expect(0, "resume", r.RunID, "--preview"); !strings.Contains(stderr, "not possible") {
		t.Errorf("preview of a resume: %s", stderr)
	}
	if _, stderr := s.expect(0, "fork", r.RunID, "--at", fmt.Sprint(at), "--preview"); !strings.Contains(
		stderr, "in doubt     pay (unsafe)") ||
		!strings.Contains(stderr, "repeated     book (idempotent)") ||
		!strings.Contains(stderr, "again        pay: the row with its outcome is damaged") {
		t.Errorf("preview of the fork: %s", stderr)
	}
	f := s.result(3, "fork", r.RunID, "--at", fmt.Sprint(at), "--stub", `pay="found"`, "--reuse", "book", "--json")
	if f.WaitReason != "approval" || string(f.Outputs["pay"]) != `"found"` || string(f.Outputs["book"]) != `"booked"` {
		t.Errorf("the fork: %+v", f)
	}
	if out, stderr, code := s.run("logs", r.RunID); code != 4 || !strings.Contains(out, "fetch") || !strings.Contains(stderr, "checksum") {
		t.Errorf("logs: exit %d\n%s%s", code, out, stderr)
	}
	s.expect(0, "cancel", r.RunID, "--reason", "goes on as a fork")
}

// A run that has lost its input is listed and shown, with its damage and advice, and can be
// cancelled.
func TestARunWithoutItsInputAtTheCommandLine(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	plan := s.file("billing.yaml", `
id: billing
nodes:
  fetch: {type: set, input: "the order"}
  gate: {type: approval, input: {message: "go on?"}}
edges: [{from: fetch, to: gate}]
`)
	r := s.result(3, "run", "--plan", plan, "--input", `{"order": 4711}`, "--json")
	storetest.Alter(t, s.env["KAIROS_DB"], `UPDATE run_details SET input = '{"order"'`)
	if out, _ := s.expect(0, "runs"); !strings.Contains(out, "billing") {
		t.Errorf("runs: %s", out)
	}
	if out, _ := s.expect(0, "show", r.RunID); !strings.Contains(out, "damaged: input: ") ||
		!strings.Contains(out, "start a new run of the plan") ||
		!strings.Contains(out, "the order") {
		t.Errorf("show: %s", out)
	}
	if out, _ := s.expect(0, "show", r.RunID, "--json"); !strings.Contains(out, `"parts":`) {
		t.Errorf("show --json: %s", out)
	}
	if _, stderr, code := s.run("resume", r.RunID, "--yes"); code == 0 || !strings.Contains(stderr, "input of the run is damaged") ||
		!strings.Contains(stderr, "restore a backup") {
		t.Errorf("resume: exit %d, %s", code, stderr)
	}
	if _, stderr, code := s.run("fork", r.RunID, "--at", "1", "--preview"); code != 0 || !strings.Contains(stderr, "not possible") ||
		strings.Contains(stderr, "from the input") {
		t.Errorf("preview of a fork: exit %d, %s", code, stderr)
	}
	s.expect(0, "cancel", r.RunID, "--reason", "a new one does it")
}
