package runstate

import (
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	l := InitialLimits(domain.Limits{MaxTokens: 10}, walk.Limits{MaxSteps: 5, MaxTokens: 99,
		MaxDuration: walk.Duration(time.Minute)})
	if want := (domain.Limits{MaxSteps: 5, MaxTokens: 10, MaxDuration: time.Minute}); l != want {
		t.Errorf("got %+v, want %+v", l, want)
	}
	if l := InitialLimits(domain.Limits{}, walk.Limits{}); l.MaxSteps != 100_000 {
		t.Errorf("got %+v, want the default of 100,000 steps", l)
	}
	for name, tt := range map[string]struct {
		Spent
		over bool
	}{
		"nothing": {Spent{}, false},
		"steps":   {Spent{Steps: 5}, true},
		"tokens":  {Spent{Usage: domain.Usage{InputTokens: 6, OutputTokens: 4}}, true},
		"time":    {Spent{Time: time.Minute}, true},
		"almost":  {Spent{Steps: 4, Time: 59 * time.Second, Usage: domain.Usage{InputTokens: 9}}, false},
	} {
		if got := !Exceeded(smallLimits, tt.Spent).IsZero(); got != tt.over {
			t.Errorf("%s: got %v, want %v", name, got, tt.over)
		}
	}
}

var smallLimits = domain.Limits{MaxSteps: 5, MaxTokens: 10, MaxDuration: time.Minute}
