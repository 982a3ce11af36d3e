package cli_test

import (
	"regexp"
	"strings"
	"testing"
)

// P51: a run in which no edge matches fails, and prints the fork that repairs it. The fork keeps the result of
// the step.
func TestNoEdgeMatchesAndTheForkThatRepairsIt(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	plan := s.file("choose.yaml", `
id: choose
nodes:
  first: {type: set, input: {n: 1, id: "${run.id}"}}
  two: {type: set, input: two}
edges: [{from: first, to: two, condition: last.n==2}]
`)
	r := s.result(1, "run", "--plan", plan, "--json")
	if r.Error == nil || r.Error.Code != "no_edge_matched" || r.Error.Node != "first" {
		t.Fatalf("%+v", r.Error)
	}
	out, _ := s.expect(0, "show", r.RunID)
	command := regexp.MustCompile(`kairos (fork \S+ --at \d+ --version -1 --reuse first)`).FindStringSubmatch(out)
	if command == nil || !strings.Contains(out, "add an edge with condition: default, or ends: ok") {
		t.Fatalf("no fork is named in\n%s", out)
	}
	s.file("choose.yaml", `
id: choose
nodes:
  first: {type: set, input: {n: 1, id: "${run.id}"}}
  two: {type: set, input: two}
  other: {type: set, input: "other ${output.first.id}"}
edges: [{from: first, to: two, condition: last.n==2}, {from: first, to: other, condition: default}]
`)
	s.expect(0, "plans", "add", plan)
	fork := s.result(0, append(strings.Fields(command[1]), "--json")...)
	if want := `"other ` + r.RunID + `"`; string(fork.Output) != want {
		t.Errorf("got %s, want %s", fork.Output, want)
	}
}
