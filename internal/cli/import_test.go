package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An imported workflow runs. What has no counterpart fails in the run, and is named with its line.
func TestAWorkflowIsImported(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	config := s.file("kairos.yaml", "tools: {exec: {enabled: true, allow: [/bin/sh]}}\n")
	file := s.file("greet.yml", `params: "WHO=ana REGION=north"
steps:
  - {name: greet, command: echo "hello $WHO"}
  - {name: again, depends: greet, script: "echo ${REGION}"}
`)
	plan, stderr := s.expect(0, "plans", "import", file)
	if stderr != "" {
		t.Errorf("notes: %s", stderr)
	}
	r := s.result(0, "run", s.file("plan.yaml", plan), "--config", config, "--input", `{"WHO": "a'; exit 1; '"}`, "--json")
	if !strings.Contains(string(r.Outputs["greet"]), `hello a'; exit 1; '`) || !strings.Contains(string(r.Outputs["again"]), "north") {
		t.Errorf("outputs: %s", r.Outputs)
	}
	odd := s.file("odd.yml", "steps:\n  - {name: image, executor: docker, command: echo hi}\n")
	plan, stderr = s.expect(0, "plans", "import", odd)
	if !strings.Contains(stderr, "odd.yml:2: step image has the executor docker: replace it") {
		t.Errorf("notes: %s", stderr)
	}
	r = s.result(1, "run", s.file("odd-plan.yaml", plan), "--config", config, "--json")
	if r.Error == nil || r.Error.Code != "not_imported" {
		t.Errorf("%+v", r.Error)
	}
	jobs := s.file("jobs", "30 2 * * * /usr/bin/backup\n@daily /usr/bin/report\n")
	if _, stderr := s.expect(2, "plans", "import", jobs); !strings.Contains(stderr, "--output") {
		t.Error(stderr)
	}
	dir := filepath.Join(s.dir, "plans")
	s.expect(0, "plans", "import", jobs, "--output", dir)
	if text, err := os.ReadFile(filepath.Join(dir, "report.yaml")); err != nil || !strings.Contains(string(text), "@daily") {
		t.Errorf("%s %v", text, err)
	}
	s.expect(2, "plans", "import", jobs, "--output", dir) // files are not overwritten
	if _, stderr := s.expect(2, "plans", "import", s.file("plan2.yaml", "id: a\nnodes: {a: {type: noop}}\n")); !strings.Contains(stderr,
		"none of the formats") {
		t.Error(stderr)
	}
	if _, stderr := s.expect(2, "validate", odd); !strings.Contains(stderr, "kairos plans import") {
		t.Error(stderr)
	}
}
