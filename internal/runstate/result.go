package runstate

import (
	"fmt"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// NothingCompleted is the answer of a step plan without a completed step.
const NothingCompleted = "I wasn't able to complete the plan due to errors."

// AggregateSteps combines the results of steps into one answer: that of the only completed step, or
// each under its task.
func AggregateSteps(steps []domain.PlanStepState) string {
	completed := 0
	only := ""
	var parts []string
	for _, s := range steps {
		switch {
		case s.Status == "completed" && s.Result != "":
			completed++
			only = s.Result
			parts = append(parts, "**"+s.Task+"**\n"+s.Result)
		case s.Status == "skipped":
			parts = append(parts, "**"+s.Task+"**\n_Skipped_")
		}
	}
	switch completed {
	case 0:
		return NothingCompleted
	case 1:
		return only
	}
	return strings.Join(parts, "\n\n---\n\n")
}

// StepFailureReason returns the reason why a step plan failed. Step numbers start at 1.
func StepFailureReason(p *walk.Program, f *domain.RunError) string {
	if i, ok := p.Index[f.Node]; ok {
		return fmt.Sprintf("Step %d failed: %s", i+1, f.Message)
	}
	return f.Message
}
