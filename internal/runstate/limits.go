package runstate

import (
	"math"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// BudgetWait is a wait for a higher limit. Code is set if another event also ends the wait.
type BudgetWait struct {
	domain.Message
	Code string
	// Shared is the shared budget whose raise or next window ends the wait, or nil.
	Shared *BudgetRef
	since  time.Time
}

const defaultSteps = 100_000 // steps per run

// InitialLimits returns the limits of a new run: those of the request, or else of the plan, or else
// the defaults.
func InitialLimits(asked domain.Limits, plan walk.Limits) domain.Limits {
	return MergeLimits(MergeLimits(domain.Limits{MaxSteps: defaultSteps}, domain.Limits{
		MaxSteps: int64(plan.MaxSteps), MaxDuration: time.Duration(plan.MaxDuration), MaxTokens: plan.MaxTokens, MaxCost: plan.MaxCost,
	}), asked)
}

// MergeLimits returns base with the non-zero fields of over.
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

// Spent is the usage that counts against the limits of a run.
type Spent struct {
	Steps int64
	Time  time.Duration
	Usage domain.Usage
}

// Tokens is the number of input and output tokens.
func (s Spent) Tokens() int64 { return s.Usage.InputTokens + s.Usage.OutputTokens }

// Exceeded returns the limit that the next step or call would exceed. It returns a zero message if
// there is none.
func Exceeded(l domain.Limits, s Spent) (none domain.Message) {
	switch tokens := s.Tokens(); {
	case l.MaxSteps > 0 && s.Steps >= l.MaxSteps:
		return domain.Messagef("max_steps %d is used up", l.MaxSteps)
	case l.MaxDuration > 0 && s.Time >= l.MaxDuration:
		return domain.Messagef("max_duration %s is used up", l.MaxDuration)
	case l.MaxTokens > 0 && tokens >= l.MaxTokens:
		return domain.Messagef("max_tokens %d is used up: %d tokens", l.MaxTokens, tokens)
	case l.MaxCost > 0 && s.Usage.Cost >= l.MaxCost:
		return domain.Messagef("max_cost %g is used up: %g", l.MaxCost, s.Usage.Cost)
	}
	return none
}

// RaisedLimits returns the limits after a request. The error has CodeInvalid if one of them is
// below the usage s.
func RaisedLimits(l domain.Limits, s Spent, r domain.ActionRequest) (domain.Limits, error) {
	l = MergeLimits(l, r.Limits)
	for _, f := range []struct {
		name      string
		has, plus bool
	}{
		{"max_steps", l.MaxSteps > 0, r.Raise.MaxSteps != 0}, {"max_duration", l.MaxDuration > 0, r.Raise.MaxDuration != 0},
		{"max_tokens", l.MaxTokens > 0, r.Raise.MaxTokens != 0}, {"max_cost", l.MaxCost > 0, r.Raise.MaxCost != 0},
	} {
		if f.plus && !f.has {
			return l, domain.Errorf(domain.CodeInvalid, "the run has no %s to raise", f.name).Suggest("set one without a plus sign")
		}
	}
	l.MaxSteps, l.MaxTokens = plus(l.MaxSteps, r.Raise.MaxSteps), plus(l.MaxTokens, r.Raise.MaxTokens)
	l.MaxDuration, l.MaxCost = time.Duration(plus(int64(l.MaxDuration), int64(r.Raise.MaxDuration))), l.MaxCost+r.Raise.MaxCost
	below := func(name string, limit, used any) error {
		return domain.Errorf(domain.CodeInvalid, "%s %v is below the %v that the run has used", name, limit,
			used).Suggest("set a limit above %v", used)
	}
	switch asked := MergeLimits(r.Limits, r.Raise); {
	case asked.MaxSteps > 0 && l.MaxSteps < s.Steps:
		return l, below("max_steps", l.MaxSteps, s.Steps)
	case asked.MaxDuration > 0 && l.MaxDuration < s.Time:
		return l, below("max_duration", l.MaxDuration, s.Time)
	case asked.MaxTokens > 0 && l.MaxTokens < s.Tokens():
		return l, below("max_tokens", l.MaxTokens, s.Tokens())
	case asked.MaxCost > 0 && l.MaxCost < s.Usage.Cost:
		return l, below("max_cost", l.MaxCost, s.Usage.Cost)
	}
	return l, nil
}

func plus(a, b int64) int64 {
	if b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}
