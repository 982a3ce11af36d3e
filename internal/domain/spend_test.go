package domain_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Spend is summed by the selected names and by period, with the largest cost first.
func TestSpendIsSummed(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2030, 1, n, 0, 0, 0, 0, time.UTC) }
	list := []domain.Spend{
		{From: day(2), PlanKey: "a", Agent: "x", Provider: "p", Model: "m", Calls: 1, Usage: domain.Usage{InputTokens: 1, Cost: 1}},
		{From: day(1), PlanKey: "b", Agent: "x", Provider: "p", Model: "m", Calls: 1, Usage: domain.Usage{InputTokens: 2, Cost: 3}},
		{From: day(1), PlanKey: "a", Agent: "x", Provider: "p", Model: "n", Calls: 2, Usage: domain.Usage{OutputTokens: 5, Cost: 1}},
		{From: day(1), PlanKey: "a", Agent: "y", Provider: "q", Model: "m", Calls: 4, Usage: domain.Usage{InputTokens: 7, Cost: 1}},
	}
	for want, by := range map[string]domain.SpendKeys{
		"1 b 1 3, 1 a 6 2, 2 a 1 1":              {Plan: true},
		"1 m 5 4, 1 n 2 1, 2 m 1 1":              {Model: true},
		"1  7 5, 2  1 1":                         {},
		"1 bx 1 3, 1 ay 4 1, 1 ax 2 1, 2 ax 1 1": {Plan: true, Agent: true},
		"1 p 3 4, 1 q 4 1, 2 p 1 1":              {Provider: true},
	} {
		got := ""
		for i, e := range domain.SumSpend(list, by) {
			if i > 0 {
				got += ", "
			}
			got += fmt.Sprintf("%d %s %d %v", e.From.Day(), e.PlanKey+e.Agent+e.Provider+e.Model, e.Calls, e.Usage.Cost)
		}
		if got != want {
			t.Errorf("%+v: %s, want %s", by, got, want)
		}
	}
}

// The usage without a label is the whole usage without that of its values, by the other names.
func TestSpendWithoutALabel(t *testing.T) {
	t.Parallel()
	all := []domain.Spend{
		{PlanKey: "a", Model: "m", Calls: 5, Usage: domain.Usage{InputTokens: 50, Cost: 1}},
		{PlanKey: "b", Model: "m", Calls: 2, Usage: domain.Usage{InputTokens: 20, Cost: 0.3}},
	}
	labelled := []domain.Spend{
		{PlanKey: "a", Model: "m", Label: "team=x", Calls: 2, Usage: domain.Usage{InputTokens: 20, Cost: 0.4}},
		{PlanKey: "a", Model: "m", Label: "team=y", Calls: 1, Usage: domain.Usage{InputTokens: 5, Cost: 0.1}},
		{PlanKey: "b", Model: "m", Label: "team=x", Calls: 2, Usage: domain.Usage{InputTokens: 20, Cost: 0.3}},
	}
	rest := domain.Unlabelled(all, labelled, domain.SpendKeys{Plan: true, Model: true})
	if len(rest) != 1 || rest[0].PlanKey != "a" || rest[0].Calls != 2 || rest[0].Usage.InputTokens != 25 || rest[0].Usage.Cost != 0.5 {
		t.Errorf("%+v", rest)
	}
}
