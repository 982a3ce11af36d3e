package engine

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
)

// ran is how long the run is running without a break. It is measured, whatever the
// clock is set to meanwhile.
func (a *runner) ran() time.Duration { return time.Since(a.runningSince).Truncate(timeUnit) }

// spent is what the run has used so far.
func (a *runner) spent() runstate.Spent {
	s := runstate.Spent{Steps: a.run.Steps, Time: a.run.RunningTime, Usage: a.run.Usage}
	if a.run.Status == domain.RunRunning && !a.runningSince.IsZero() {
		s.Time += a.ran()
	}
	return s
}

// overBudget says why the work may not start; "": it may.
func (a *runner) overBudget(k runstate.StepKey) string {
	l := a.run.Limits
	if l == (domain.Limits{}) {
		return ""
	}
	s := a.spent()
	if l.MaxSteps > 0 && s.Steps+int64(len(a.s.Open)) >= l.MaxSteps {
		s.Steps += a.begun(k)
	}
	return runstate.Exceeded(l, s)
}

// begun counts the work that has begun, other than k: each will be one more step.
func (a *runner) begun(k runstate.StepKey) (n int64) {
	for _, w := range a.s.Open {
		if w.StepKey != k && (a.running[w.StepKey] != nil || w.Phase != runstate.PhaseReady) {
			n++
		}
	}
	return n
}
