package apitypes

import (
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Spend is the usage of models in a period, by plan, agent, and model.
type Spend struct {
	From         time.Time `json:"from" doc:"The beginning of the period."`
	Plan         string    `json:"plan,omitempty" doc:"The key of the plan; absent unless by contains plan."`
	Agent        string    `json:"agent,omitempty" doc:"The agent; absent if it was not recorded, and unless by contains agent."`
	Model        string    `json:"model,omitempty" doc:"The model; absent if it was not recorded, and unless by contains model."`
	Calls        int64     `json:"calls" doc:"The number of model calls."`
	InputTokens  int64     `json:"inputTokens"`
	OutputTokens int64     `json:"outputTokens"`
	Cost         float64   `json:"cost" doc:"The cost, in the currency of the prices in the configuration; 0 without prices."`
}

// SpendOf returns a sum as the API sends it.
func SpendOf(s domain.Spend) Spend {
	return Spend{From: s.From, Plan: s.PlanKey, Agent: s.Agent, Model: s.Model, Calls: s.Calls,
		InputTokens: s.Usage.InputTokens, OutputTokens: s.Usage.OutputTokens, Cost: s.Usage.Cost}
}

// SpendBy are the names that spend can be summed by.
var SpendBy = []string{"plan", "agent", "model"}

// SpendKeysOf returns the keys for names of [SpendBy].
func SpendKeysOf(by []string) domain.SpendKeys {
	return domain.SpendKeys{Plan: slices.Contains(by, "plan"), Agent: slices.Contains(by, "agent"), Model: slices.Contains(by, "model")}
}
