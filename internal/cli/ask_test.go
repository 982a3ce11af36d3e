package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// A skill with an estimate of one hour, and an agent that answers directly.
const askConfig = `
providers: {script: {type: scripted, file: answers.yaml}}
agents: [{id: writer, name: Writer, system_prompt: You write.}]
skills:
  - {id: write, description: Write about the topic., keywords: {en: [write]}, params: {topic: {}}, produces: [text], estimated_ms: 3600000, estimated_tokens: 100000, agent: writer}
planner: {mode: rules}
`

type askedPlan struct {
	ID, Key, Hash, By, Reason string
	Version                   int
	Proposed                  bool
	Found                     bool
	Document                  struct {
		EstimatedDuration int64
		EstimatedCost     float64
		Metadata          struct {
			CreatedAt     string
			MeasuredSteps int
			Confidence    float64
		}
	}
}

func (s *shell) ask(config string, args ...string) (plan askedPlan, run string) {
	s.t.Helper()
	stdout, _ := s.expect(0, append([]string{"ask", "--config", config, "--json"}, args...)...)
	var out struct {
		Plan askedPlan
		Run  *struct{ RunID, Status string }
	}
	if err := json.Unmarshal([]byte(stdout), &out); err != nil {
		s.t.Fatalf("%v\n%s", err, stdout)
	}
	if out.Run != nil {
		run = out.Run.RunID
		if out.Run.Status != "completed" {
			s.t.Fatalf("the run is %s", out.Run.Status)
		}
	}
	return out.Plan, run
}

// An equal request reuses its plan, and --fresh plans it again. The durations of five runs of a
// skill replace the configured estimate.
func TestAskFindsItsPlanAndTheParametersOfSkills(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.file("answers.yaml", "answers: [{contains: tea, text: Tea is hot.}]\n")
	config := s.file("kairos.yaml", askConfig)
	first, _ := s.ask(config, "write about tea and then stop")
	if first.Found || first.Document.EstimatedDuration != 3_600_000 || first.Document.EstimatedCost != 100_000 ||
		first.Document.Metadata.CreatedAt == "" {
		t.Fatalf("%+v", first)
	}
	for i := range 4 {
		// White space does not make another request.
		if again, run := s.ask(config, "write  about tea "+strings.Repeat(" ", i)+"and then stop "); !again.Found ||
			again.Hash != first.Hash ||
			again.By != "rules" ||
			run == "" {
			t.Fatalf("asked again: %+v", again)
		}
	}
	if found, _ := s.ask(config, "write about tea and then stop", "--plan-only"); found.Document.EstimatedDuration != 3_600_000 {
		t.Errorf("a found plan is another one: %+v", found)
	}
	fresh, _ := s.ask(config, "write about tea and then stop", "--plan-only", "--fresh")
	d := fresh.Document
	if fresh.Found || fresh.Version != 2 || fresh.Key != first.Key || d.EstimatedDuration >= 3_600_000 || d.EstimatedCost == 0 ||
		d.EstimatedCost > 1000 ||
		d.Metadata.MeasuredSteps != 1 ||
		d.Metadata.Confidence <= first.Document.Metadata.Confidence {
		t.Errorf("with five runs: %+v", fresh)
	}
	if !strings.Contains(fresh.Reason, "1 of 1 estimates are medians of runs here") {
		t.Errorf("the reason is %q", fresh.Reason)
	}
	// The plan is active, so a new version of it is a draft until a person accepts it.
	if !fresh.Proposed {
		t.Errorf("a version of a plan in use is no draft: %+v", fresh)
	}
	if found, _ := s.ask(config, "write about tea and then stop", "--plan-only"); found.Version != 1 || found.Hash != first.Hash {
		t.Errorf("before anybody accepted it, %+v is current", found)
	}
	// No run in between, because it would change the estimates.
	if again, _ := s.ask(config, "write about tea and then stop", "--plan-only", "--fresh"); again.Version != 2 {
		t.Errorf("replanned to the same content it is another version: %+v", again)
	}
	if run, _ := s.expect(0, "run", "--config", config, first.Key, "--prompt", "tea", "--json"); !strings.Contains(run, `"completed"`) {
		t.Error(run)
	}
	if out, _ := s.expect(0, "drafts", "--config", config); !strings.Contains(out, first.Key+" v2") {
		t.Errorf("the drafts: %s", out)
	}
	s.expect(0, "drafts", "accept", "--config", config, first.Key)
	_, stderr := s.expect(0, "ask", "--config", config, "write about tea and then stop", "--plan-only")
	for _, want := range []string{"planned before (--fresh plans it again)", "(1 of 1 steps by medians of runs here)"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q is missing:\n%s", want, stderr)
		}
	}
	if other, _ := s.ask(config, "write about coffee and then stop", "--plan-only"); other.Found || other.Key == first.Key {
		t.Errorf("another request: %+v", other)
	}
	// Another configuration is another planner.
	config = s.file("kairos.yaml", strings.Replace(askConfig, "produces: [text]", "produces: [text], defaults: {tone: dry}", 1))
	if other, _ := s.ask(config, "write about tea and then stop", "--plan-only"); other.Found {
		t.Errorf("found after the skill has changed: %+v", other)
	}
}

// Priority, timeout, and budget apply to the run.
func TestConstraintsOfAskApplyToTheRun(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.file("answers.yaml", "answers: [{contains: tea, text: Tea is hot.}]\n")
	config := s.file("kairos.yaml", askConfig)
	stdout, stderr, code := s.run("ask", "--config", config, "write about tea", "--budget", "10", "--json")
	if code != 2 || !strings.Contains(stderr, "PRE-PLAN-003") && !strings.Contains(stderr, "budget") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	if _, stderr, code := s.run("ask", "--config", config, "write about tea", "--timeout", "0s"); code != 2 ||
		!strings.Contains(stderr, "timeout") {
		t.Errorf("a timeout of nothing: exit %d, %s", code, stderr)
	}
	if _, stderr, code := s.run("ask", "--config", config, "write about tea", "--priority", "urgent"); code != 2 ||
		!strings.Contains(stderr, "low, medium, or high") {
		t.Errorf("an unknown priority: exit %d, %s", code, stderr)
	}
	_, run := s.ask(config, "write about tea", "--budget", "200000", "--timeout", "2h", "--priority", "high")
	stdout, _ = s.expect(0, "show", run, "--json")
	var shown struct {
		Run struct {
			Priority int
			Limits   struct {
				MaxDuration string
				MaxTokens   int64
			}
		}
		Priority int
	}
	if err := json.Unmarshal([]byte(stdout), &shown); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stdout, `"priority": 10`) && !strings.Contains(stdout, `"priority":10`) {
		t.Errorf("%+v\n%s", shown, stdout)
	}
}
