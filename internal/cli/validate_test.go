package cli_test

import (
	"strings"
	"testing"
)

// A configuration that offers what no plan can use is a problem of its own,
// found with the plans that are validated against it.
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
