package filter_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
)

func TestParsePlans(t *testing.T) {
	t.Parallel()
	for q, want := range map[string]domain.PlanFilter{
		"":              {},
		"big report":    {Text: "big report"},
		"tool:erp.post": {Facts: []domain.PlanFact{{Kind: "tool", Value: "erp.post"}}},
		`owner:"Ada L" label.env=prod inv`: {Text: "inv",
			Facts: []domain.PlanFact{{Kind: "owner", Value: "Ada L"}, {Kind: "label", Value: "env=prod"}}},
		"agent:triage": {Facts: []domain.PlanFact{{Kind: "agent", Value: "triage"}}},
	} {
		got, problem := filter.ParsePlans(q)
		if problem != nil || !cmp.Equal(got, want) {
			t.Errorf("%q: %v %s", q, problem, cmp.Diff(want, got))
		}
	}
	for q, want := range map[string]string{
		"tol:x": "did you mean tool:x?", "-tool:x": "remove the dash", "label.env": "", "tool:": "",
	} {
		if _, problem := filter.ParsePlans(q); problem == nil || problem.Suggestion != want {
			t.Errorf("%q: %+v, want the suggestion %q", q, problem, want)
		}
	}
}

func TestParseSteps(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 31, 8, 0, 0, 0, time.UTC)
	for q, want := range map[string]domain.StepFilter{
		"": {},
		"plan:flow v:3 node:a,b status:failed,succeeded took:>5m since:24h": {PlanKey: "flow", Version: 3, Nodes: []string{"a", "b"},
			Statuses: []domain.NodeStatus{domain.NodeFailed, domain.NodeCompleted}, MinTook: 5 * time.Minute,
			Since: now.Add(-24 * time.Hour)},
		"step:post error:timeout attempt:>1 took:<1s until:2030-01-30": {Nodes: []string{"post"}, ErrorCodes: []string{"timeout"},
			MinAttempt: 1, MaxTook: time.Second,
			Until: time.Date(2030, 1, 30, 0, 0, 0, 0, time.UTC)},
		"fetch": {Nodes: []string{"fetch"}},
	} {
		got, problem := filter.ParseSteps(q, now)
		if problem != nil || !cmp.Equal(got, want) {
			t.Errorf("%q: %v %s", q, problem, cmp.Diff(want, got))
		}
	}
	for q, want := range map[string]string{
		"nod:x": "did you mean node:x?", "v:2": "write plan:name v:2", "status:faild": "did you mean status:failed?",
		"took:5m":  "write took:>5m or took:<10s",
		"plan:a,b": "", "-node:a": "remove the dash", "node:,": "",
	} {
		if _, problem := filter.ParseSteps(q, now); problem == nil || problem.Suggestion != want {
			t.Errorf("%q: %+v, want the suggestion %q", q, problem, want)
		}
	}
}
