package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// Two runs are compared as text and as JSON. Without a second run, the last completed run of the
// plan is used.
func TestCompareRuns(t *testing.T) {
	t.Parallel()
	everywhere(t, "", func(t *testing.T, s *shell) {
		plan := s.file("pay.yaml", `
id: pay
nodes:
  sum: {type: set, input: {total: "${input.n}", of: pay}}
  check: {type: decision}
  pay: {type: set, input: paid}
  ask: {type: json, input: {value: 1, path: bad}}
edges:
  - {from: sum, to: check}
  - {from: check, to: pay, condition: "input.n == 1"}
  - {from: check, to: ask}
`)
		good := s.result(0, "run", "--plan", plan, "--input", `{"n": 1}`, "--json")
		bad := s.result(1, "run", "--plan", plan, "--input", `{"n": 2}`, "--json")
		for _, args := range [][]string{{"runs", "compare", bad.RunID, good.RunID}, {"runs", "compare", bad.RunID}} {
			out, _ := s.expect(0, args...)
			for _, want := range []string{"first   " + bad.RunID + "  pay v1  failed", "second  " + good.RunID +
				"  pay v1  completed", "first difference at step sum: its output differs",
				"input:\n  - .n  2\n  + .n  1\n", "output of sum:\n  - .total  2\n  + .total  1\n",
				"it went to ask in one and to pay in the other", "only one run has it"} {
				if !strings.Contains(out, want) {
					t.Errorf("%v: no %q in\n%s", args, want, out)
				}
			}
		}
		out, _ := s.expect(0, "runs", "compare", good.RunID, bad.RunID, "--json")
		var d struct {
			A, B  struct{ RunID, Status string }
			First struct{ Step, Difference string }
			Input struct{ Changes []struct{ Op, Path string } }
			Steps []struct {
				Step, Difference string
				A, B             *struct{ Status, To, Code string }
			}
		}
		if err := json.Unmarshal([]byte(out), &d); err != nil || d.A.RunID != good.RunID || d.B.Status != "failed" ||
			d.First.Step != "sum" || d.First.Difference != "output" ||
			len(d.Input.Changes) != 1 || d.Input.Changes[0].Path != ".n" || len(d.Steps) != 4 || d.Steps[1].B.To != "ask" ||
			d.Steps[3].A != nil ||
			d.Steps[3].B.Code == "" {
			t.Errorf("%v: %s", err, out)
		}
		if out, _ := s.expect(0, "runs", "compare", good.RunID, good.RunID); !strings.Contains(out, "no differences between steps") {
			t.Error(out)
		}
		if _, stderr := s.expect(2, "runs", "compare", good.RunID); !strings.Contains(stderr, "no completed run of pay") {
			t.Error(stderr)
		}
		if _, stderr := s.expect(2, "runs", "compare", bad.RunID, "zzzz"); !strings.Contains(stderr, "list runs: kairos runs") {
			t.Error(stderr)
		}
		s.expect(2, "runs", "compare")
	})
}
