package runstate

import (
	"fmt"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// BudgetWait is why a run waits for a higher limit. Code is set if something else than
// a higher limit ends the wait.
type BudgetWait struct {
	Message, Code string
	since         time.Time
}

const defaultSteps = 100_000 // nodes per run

// InitialLimits are a new run's limits: what its starter set, else the plan's, else
// the defaults.
func InitialLimits(asked domain.Limits, plan planner.Limits) domain.Limits {
	return MergeLimits(MergeLimits(domain.Limits{MaxSteps: defaultSteps}, domain.Limits{
		MaxSteps: int64(plan.MaxSteps), MaxDuration: time.Duration(plan.MaxDuration), MaxTokens: plan.MaxTokens, MaxCost: plan.MaxCost,
	}), asked)
}

// MergeLimits replaces in base what is set in over.
func MergeLimits(base, over domain.Limits) domain.Limits {
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

// Spent is what a run has used of its limits.
type Spent struct {
	Steps int64
	Time  time.Duration
	Usage domain.Usage
}

// Tokens is the number of input and output tokens.
func (s Spent) Tokens() int64 { return s.Usage.InputTokens + s.Usage.OutputTokens }

// Exceeded says which limit the next node or call would exceed; "": none.
func Exceeded(l domain.Limits, s Spent) string {
	switch tokens := s.Tokens(); {
	case l.MaxSteps > 0 && s.Steps >= l.MaxSteps:
		return fmt.Sprintf("max_steps %d is used up", l.MaxSteps)
	case l.MaxDuration > 0 && s.Time >= l.MaxDuration:
		return fmt.Sprintf("max_duration %s is used up", l.MaxDuration)
	case l.MaxTokens > 0 && tokens >= l.MaxTokens:
		return fmt.Sprintf("max_tokens %d is used up: %d tokens", l.MaxTokens, tokens)
	case l.MaxCost > 0 && s.Usage.Cost >= l.MaxCost:
		return fmt.Sprintf("max_cost %g is used up: %g", l.MaxCost, s.Usage.Cost)
	}
	return ""
}

// CodePrice is the code of a wait for budget that ends once a price is configured.
const CodePrice = "price"
