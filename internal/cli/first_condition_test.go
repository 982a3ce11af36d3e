package cli_test

import (
	"regexp"
	"testing"
)

// A step that fails at its condition, before it starts, is marked as failed like any other.
func TestAStepThatFailsAtItsConditionIsMarked(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	plan := s.file("gate.yaml", `
id: gate
nodes:
  first: {type: set, when: "expr: input.missing.value > 3", input: 1}
`)
	r := s.result(1, "run", "--plan", plan, "--json")
	if r.Error == nil || r.Error.Node != "first" {
		t.Fatalf("%+v", r.Error)
	}
	out, _ := s.expect(0, "show", r.RunID)
	if !regexp.MustCompile(`(?m)^   -  \d\d:\d\d:\d\d\.\d{3}  failed       first  .+`).MatchString(out) {
		t.Errorf("the failed step is not marked:\n%s", out)
	}
}
