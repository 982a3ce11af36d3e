package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

// A configuration with a planning model, and a plan whose second step fails.
const (
	replanConfig = `
providers: {script: {type: scripted, file: answers.yaml}}
agents:
  - {id: clerk, name: Clerk, description: Finds figures., system_prompt: You find figures.}
  - {id: writer, name: Writer, description: Writes., system_prompt: You write.}
default_agent: clerk
planner: {mode: model}
`
	replanAnswers = `answers:
  - system: You turn a request
    contains: "Done already:\n- Collect the figures: 41 and 42\n\nFailed: Draw a chart"
    json: {requiresMultiStep: true, summary: Describe the figures in words, reasoning: Nobody here can draw., steps: [{agentId: writer, task: Describe the figures in words}, {agentId: writer, task: Translate it into Spanish}]}
  - contains: Collect the figures
    text: 41 and 42
  - contains: Draw a chart
    error: {code: no_pencil, message: there is no pencil, permanent: true}
  - contains: "Current task: Describe the figures"
    text: It went up by one.
  - contains: "Current task: Translate it"
    text: "Subió en uno."
`
	replanPlan = `
id: figures
description: Show how the figures went
steps:
  - {id: one, agentId: clerk, task: Collect the figures}
  - {id: two, agentId: clerk, task: Draw a chart, on_error: replan}
  - {id: three, agentId: writer, task: Send it round}
`
)

// A step fails, the model plans the remaining steps again, and finished steps stay finished.
func TestReplanByModel(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"kairos.yaml": replanConfig, "answers.yaml": replanAnswers, "plan.yaml": replanPlan} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stdout, stderr, code := s.run(
		"run",
		"--config",
		filepath.Join(dir, "kairos.yaml"),
		"--plan",
		filepath.Join(dir, "plan.yaml"),
		"--prompt",
		"How did it go?",
		"--json",
	)
	var got struct {
		RunID, Status string
		Output        string
		Path          []string
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 {
		t.Fatalf("exit %d %v\n%s%s", code, err, stdout, stderr)
	}
	if got.Output != "Subió en uno." || strings.Join(got.Path, " ") != "one step-4 step-5" {
		t.Errorf("%+v", got)
	}
	stdout, stderr, code = s.run("show", got.RunID, "--json")
	if code != 0 || !strings.Contains(stdout, "two failed (there is no pencil); Nobody here can draw.") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	var shown struct {
		Plan    domain.PlanRef
		Replans []struct {
			From, To int
			Node, By string
			Proposed bool
		}
	}
	if err := json.Unmarshal([]byte(stdout), &shown); err != nil || shown.Plan.Version != 2 || len(shown.Replans) != 1 ||
		shown.Replans[0].From != 1 || shown.Replans[0].To != 2 ||
		shown.Replans[0].Node != "two" ||
		shown.Replans[0].By != "supervisor" ||
		shown.Replans[0].Proposed {
		t.Errorf("%v %+v", err, shown)
	}
	stdout, _ = s.expect(0, "show", got.RunID)
	for _, want := range []string{"replanned after two failed: v1 → v2", "kairos plans diff figures 1 2"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing:\n%s", want, stdout)
		}
	}
	// The plan was written in YAML and replanned in JSON. Equal parts stay equal.
	stdout, _ = s.expect(0, "plans", "diff", "figures", "1", "v2")
	for _, want := range []string{"-", "three", "+", "Translate it into Spanish", "   task: Collect the figures"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing:\n%s", want, stdout)
		}
	}
	if strings.Contains(stdout, "-description") || strings.Contains(stdout, "Collect the figures\n+") {
		t.Errorf("what is the same differs:\n%s", stdout)
	}
	// A rerun uses the version at the start of the run, because the replanned steps are for one
	// run.
	stdout, stderr = s.expect(0, "rerun", got.RunID, "--json", "--config", filepath.Join(dir, "kairos.yaml"))
	var second struct{ RunID string }
	if err := json.Unmarshal([]byte(stdout), &second); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	shown.Replans = nil
	stdout, _ = s.expect(0, "show", second.RunID, "--json")
	if err := json.Unmarshal([]byte(stdout), &shown); err != nil || len(shown.Replans) != 1 || shown.Replans[0].From != 1 {
		t.Errorf("the rerun: %v %+v\n%s", err, shown, stdout)
	}
}
