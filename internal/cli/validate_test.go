package cli_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// validate prints what applies to each step after all defaults.
func TestValidatePrintsRetriesAndTimeouts(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	plan := s.file("plan.yaml", `
nodes:
  fetch: {type: http, input: {url: "http://api.example/"}, retry: {max_attempts: 4, backoff: [1s, 5s]}, timeout: 30s}
  ask:
    type: llm
    needs: [fetch]
    input: "Summarize ${output.fetch.body}"
    on_error: [{code: [rate_limited, timeout], retry: {max_attempts: 5, backoff: {initial: 1s, factor: 2, max: 1m}}}]
  end: {type: noop, needs: [ask]}
`)
	out, _ := s.expect(0, "validate", plan)
	for _, want := range []string{"fetch  http  read        4 (waits 1s, 5s)",
		"1; rate_limited, timeout: 5 (waits 1s × 2, at most 1m0s)", "30s", "end    noop  pure        1", "none"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	steps := s.file("steps.yaml", "steps: [{id: a, tool: datetime}]")
	if out, _ := s.expect(0, "validate", steps); !strings.Contains(out, "3 (waits 1s, 2s)") || !strings.Contains(out, "1m0s") {
		t.Error(out)
	}
}

// With --server, the output is the same as with the same configuration.
func TestValidatePrintsTheStepsOfTheServer(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	plan := s.file("plan.yaml", `
nodes:
  fetch: {type: http, input: {url: "http://api.example/"}, retry: {max_attempts: 4, backoff: [1s, 5s]}, timeout: 30s,
    on_error: [{code: timeout, retry: {max_attempts: 2}}]}
  nap: {type: wait, needs: [fetch], input: {for: 1s}}
`)
	data := filepath.Join(shortDir(t), "data")
	serve(t, data)
	for _, args := range [][]string{{"validate", plan}, {"validate", plan, "--json"}} {
		local, _ := s.expect(0, args...)
		served, _ := s.expect(0, append(args, "--server", "unix:"+filepath.Join(data, "kairosd.sock"))...)
		if local != served || !strings.Contains(local, "1s, 5s") {
			t.Errorf("%v:\n%s\nwith --server:\n%s", args, local, served)
		}
	}
}

// An entry of the configuration that no plan can use is a problem, found with the plans that are
// validated.
func TestValidateChecksTheConfigurationToo(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	plan := s.file("plan.yaml", "nodes: {a: {type: noop}}")
	config := s.file("kairos.yaml", "skills: [{id: tell, tool: datetimes}]")
	out, _ := s.expect(2, "validate", plan, "--config", config, "--json")
	for _, want := range []string{"kairos.yaml", "skill.tool_unknown", "datetime"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in %s", want, out)
		}
	}
	sound := s.file("sound.yaml", "skills: [{id: tell, tool: datetime}]")
	s.expect(0, "validate", plan, "--config", sound)
}
