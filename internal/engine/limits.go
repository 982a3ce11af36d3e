package engine

import (
	"fmt"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

// limitsOf are a new run's limits: what its starter set, else the plan's, else
// the defaults (ruling 28).
func limitsOf(asked kairos.Limits, plan planner.Limits) kairos.Limits {
	return merge(merge(kairos.Limits{MaxSteps: defaultSteps}, kairos.Limits{
		MaxSteps: int64(plan.MaxSteps), MaxDuration: time.Duration(plan.MaxDuration), MaxTokens: plan.MaxTokens, MaxCost: plan.MaxCost,
	}), asked)
}

// merge replaces in base what is set in over.
func merge(base, over kairos.Limits) kairos.Limits {
	if over.MaxSteps != 0 {
		base.MaxSteps = over.MaxSteps
	}
	if over.MaxDuration != 0 {
		base.MaxDuration = over.MaxDuration
	}
	if over.MaxTokens != 0 {
		base.MaxTokens = over.MaxTokens
	}
	if over.MaxCost != 0 {
		base.MaxCost = over.MaxCost
	}
	return base
}

// spent is what a run has used of its limits.
type spent struct {
	steps int64
	time  time.Duration
	usage kairos.Usage
}

// exceeded says which limit the next node would exceed; "": none (SPEC 4.9).
func exceeded(l kairos.Limits, s spent) string {
	switch tokens := s.usage.InputTokens + s.usage.OutputTokens; {
	case l.MaxSteps > 0 && s.steps >= l.MaxSteps:
		return fmt.Sprintf("max_steps %d is used up", l.MaxSteps)
	case l.MaxDuration > 0 && s.time >= l.MaxDuration:
		return fmt.Sprintf("max_duration %s is used up", l.MaxDuration)
	case l.MaxTokens > 0 && tokens >= l.MaxTokens:
		return fmt.Sprintf("max_tokens %d is used up: %d tokens", l.MaxTokens, tokens)
	case l.MaxCost > 0 && s.usage.Cost >= l.MaxCost:
		return fmt.Sprintf("max_cost %g is used up: %g", l.MaxCost, s.usage.Cost)
	}
	return ""
}

// ran is how long the run is running without a break. It is measured, whatever the
// clock is set to meanwhile.
func (a *actor) ran() time.Duration { return time.Since(a.runningSince).Truncate(timeUnit) }

// overBudget says why no further node may start; "": one may.
func (a *actor) overBudget() string {
	l := a.run.Limits
	if l == (kairos.Limits{}) {
		return ""
	}
	s := spent{steps: a.run.Steps + int64(len(a.running)), time: a.run.RunningTime, usage: a.run.Usage}
	if l.MaxDuration > 0 && a.run.Status == kairos.RunRunning && !a.runningSince.IsZero() {
		s.time += a.ran()
	}
	return exceeded(l, s)
}
