package engine

import (
	"fmt"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// limitsOf are a new run's limits: what its starter set, else the plan's, else
// the defaults (ruling 28).
func limitsOf(asked domain.Limits, plan planner.Limits) domain.Limits {
	return merge(merge(domain.Limits{MaxSteps: defaultSteps}, domain.Limits{
		MaxSteps: int64(plan.MaxSteps), MaxDuration: time.Duration(plan.MaxDuration), MaxTokens: plan.MaxTokens, MaxCost: plan.MaxCost,
	}), asked)
}

// merge replaces in base what is set in over.
func merge(base, over domain.Limits) domain.Limits {
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
	base.Offline = base.Offline || over.Offline
	return base
}

// spent is what a run has used of its limits.
type spent struct {
	steps int64
	time  time.Duration
	usage domain.Usage
}

func (s spent) tokens() int64 { return s.usage.InputTokens + s.usage.OutputTokens }

// exceeded says which limit the next node or call would exceed; "": none.
func exceeded(l domain.Limits, s spent) string {
	switch tokens := s.tokens(); {
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

// spent is what the run has used so far.
func (a *actor) spent() spent {
	s := spent{steps: a.run.Steps, time: a.run.RunningTime, usage: a.run.Usage}
	if a.run.Status == domain.RunRunning && !a.runningSince.IsZero() {
		s.time += a.ran()
	}
	return s
}

// overBudget says why the work may not start; "": it may.
func (a *actor) overBudget(k workKey) string {
	l := a.run.Limits
	if l == (domain.Limits{}) {
		return ""
	}
	s := a.spent()
	if l.MaxSteps > 0 && s.steps+int64(len(a.s.work)) >= l.MaxSteps {
		s.steps += a.begun(k)
	}
	return exceeded(l, s)
}

// begun counts the work that has begun, other than k: each will be one more step.
func (a *actor) begun(k workKey) (n int64) {
	for _, w := range a.s.work {
		if w.workKey != k && (a.running[w.workKey] != nil || w.phase != phaseReady) {
			n++
		}
	}
	return n
}
