package domain_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/internal/domain"
)

func TestExpectedDurationComesFromEarlierRuns(t *testing.T) {
	t.Parallel()
	f := domain.PlanFlow{Runs: 10, Nodes: map[string]*domain.NodeFlow{
		"ask":    {Runs: 10, Settled: 10, Attempts: 12, P50: 4 * time.Second, Cost: 0.5},
		"each":   {Runs: 10, Settled: 40, Attempts: 40, P50: time.Second, Cost: 0.4},
		"rare":   {Runs: 2, Settled: 2, Attempts: 2, P50: 10 * time.Second, Cost: 1},
		"sleep":  {Runs: 10, Settled: 10, Attempts: 10, P50: time.Hour},
		"unseen": {},
	}}
	step := func(node, typ string, visit int, items ...int) domain.PreviewStep {
		return domain.PreviewStep{Node: node, Type: typ, Visit: visit, Items: items}
	}
	got := f.Expect(
		[]domain.PreviewStep{step("ask", "agent", 1), step("each", "tool", 1, 3, 5), step("sleep", "wait", 1)},
		[]domain.PreviewStep{step("rare", "agent", 0), step("unseen", "tool", 0), step("new", "tool", 0)},
	)
	want := &domain.Expected{Runs: 10, Steps: 3, TookMs: 4000 + 2000 + 2000, Cost: 0.05 + 0.02 + 0.1}
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })); d != "" {
		t.Error(d)
	}
	if got := f.Expect([]domain.PreviewStep{step("new", "tool", 1)}, nil); got != nil {
		t.Errorf("nothing is known, and yet %+v", got)
	}
}
