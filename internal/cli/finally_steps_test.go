package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// The finally steps of a step plan run after all its steps, and do not change its result.
func TestFinallyStepsOfAStepPlan(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	plan := s.file("steps.yaml", `
id: steps
steps:
  - {id: first, tool: set, params: {n: 1}}
  - {id: second, tool: set, params: {n: "${input}"}}
finally:
  - {id: report, tool: log, params: {status: "${last.status}", second: "${status.second}"}}
  - {id: alarm, tool: log, params: {error: "${last.code}"}, condition: {type: custom, expr: "last.status == 'failed'"}}
`)
	out, _ := s.expect(0, "run", "--plan", plan, "--input", "2", "--json")
	var r struct {
		Status  string
		Output  json.RawMessage
		Outputs map[string]json.RawMessage
		Path    []string
		Result  struct {
			AggregatedResult string
			Plan             struct {
				CurrentStepIndex int
				Steps            []struct{ StepID, Status string }
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if report := `{"second":"completed","status":"completed"}`; r.Status != "completed" || string(r.Outputs["report"]) != report ||
		strings.Join(r.Path, " ") != "first second report" {
		t.Errorf("%s, report %s, path %v", r.Status, r.Outputs["report"], r.Path)
	}
	if string(r.Output) != `{"n":2}` || strings.Contains(r.Result.AggregatedResult, "completed") {
		t.Errorf("output %s, result %s", r.Output, r.Result.AggregatedResult)
	}
	if p := r.Result.Plan; p.CurrentStepIndex != 1 || len(p.Steps) != 4 || p.Steps[3].Status != "skipped" {
		t.Errorf("%+v", p)
	}
	failing := s.file("failing.yaml", `
id: failing
steps:
  - {id: first, tool: fail, params: {code: out_of_stock, message: none}}
finally:
  - {id: alarm, tool: log, params: {error: "${last.code}"}}
`)
	if r := s.result(1, "run", "--plan", failing, "--json"); string(r.Outputs["alarm"]) != `{"error":"out_of_stock"}` {
		t.Errorf("%+v", r)
	}
}
