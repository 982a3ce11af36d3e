package cli_test

import (
	"strings"
	"testing"
)

// A run that exceeds the timeout of its plan failed at no step, and the message names none.
func TestARunWithoutAFailedStepNamesNone(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	plan := s.file("late.yaml", "id: late\ntimeout: 50ms\nnodes:\n  nap: {type: wait, input: {for: 1h}}\n")
	_, stderr := s.expect(1, "run", plan)
	if !strings.Contains(stderr, " failed: ") || !strings.Contains(stderr, "(run_timeout)") || strings.Contains(stderr, "failed at") {
		t.Errorf("stderr: %s", stderr)
	}
}
