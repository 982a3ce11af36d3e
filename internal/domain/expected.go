package domain

import (
	"slices"
	"time"
)

// Expected is the estimated time and cost of steps, from previous runs of the plan.
type Expected struct {
	// Runs is the number of runs that were read. Steps is the number of remaining steps that have
	// an estimate.
	Runs  int `json:"runs"`
	Steps int `json:"steps"`
	// TookMs is the remaining work in milliseconds, one step after the other, without timers and
	// approvals. Cost is in the currency of the provider prices.
	TookMs int64   `json:"durationMs"`
	Cost   float64 `json:"cost"`
}

// Took returns the remaining work.
func (e Expected) Took() time.Duration { return time.Duration(e.TookMs) * time.Millisecond }

// waiting lists the node types that take time without working.
var waiting = []string{"wait", "approval"}

// Expect estimates steps that will run, and steps that may run, weighted by how often previous runs
// reached them. It returns nil if none of these steps has run before.
func (f PlanFlow) Expect(certain, possible []PreviewStep) *Expected {
	e := Expected{Runs: f.Runs}
	var took, cost float64
	add := func(s PreviewStep, possible bool) {
		n := f.Nodes[s.Node]
		if n == nil || n.Settled == 0 || n.Attempts == 0 || n.Runs == 0 || slices.Contains(waiting, s.Type) {
			return
		}
		e.Steps++
		times := float64(n.Settled) / float64(n.Runs) // visits and items per run
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

// ExpectedSince is the age of the oldest runs that estimates use.
const ExpectedSince = 30 * 24 * time.Hour
