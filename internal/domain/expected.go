package domain

import (
	"slices"
	"time"
)

// Expected is what steps will probably take and cost, from what runs of the same
// plan did before.
type Expected struct {
	// Runs were looked at; Steps of those ahead are known from them.
	Runs  int `json:"runs"`
	Steps int `json:"steps"`
	// TookMs is the work ahead in milliseconds, one step after another, without
	// waits for time or people; Cost is in the unit of the providers' prices.
	TookMs int64   `json:"durationMs"`
	Cost   float64 `json:"cost"`
}

// Took is the work ahead.
func (e Expected) Took() time.Duration { return time.Duration(e.TookMs) * time.Millisecond }

// waiting are the types of nodes that take time and do no work.
var waiting = []string{"wait", "approval"}

// Expect returns what steps take that run for certain, and steps that may run, as
// often as runs came to them. nil: no run that was looked at did any of them.
func (f PlanFlow) Expect(certain, possible []PreviewStep) *Expected {
	e := Expected{Runs: f.Runs}
	var took, cost float64
	add := func(s PreviewStep, possible bool) {
		n := f.Nodes[s.Node]
		if n == nil || n.Settled == 0 || n.Attempts == 0 || n.Runs == 0 || slices.Contains(waiting, s.Type) {
			return
		}
		e.Steps++
		times := float64(n.Settled) / float64(n.Runs) // visits and items of one run
		if possible {
			times = float64(n.Settled) / float64(max(f.Runs, 1))
		} else if len(s.Items) > 0 {
			times = float64(len(s.Items))
		} else if s.Visit > 0 {
			times = 1
		}
		took += times * float64(n.P50)
		cost += times * n.Cost / float64(n.Settled)
	}
	for _, s := range certain {
		add(s, false)
	}
	for _, s := range possible {
		add(s, true)
	}
	if e.Steps == 0 {
		return nil
	}
	e.TookMs, e.Cost = time.Duration(took).Milliseconds(), cost
	return &e
}

// ExpectedSince is how far back runs are looked at for what steps will take.
const ExpectedSince = 30 * 24 * time.Hour
