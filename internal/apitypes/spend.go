package apitypes

import (
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Spend is the usage of models in a period, by plan, agent, provider, model, and label.
type Spend struct {
	From         time.Time `json:"from" doc:"The beginning of the period."`
	Plan         string    `json:"plan,omitempty" doc:"The key of the plan; absent unless by contains plan."`
	Agent        string    `json:"agent,omitempty" doc:"The agent; absent if it was not recorded, and unless by contains agent."`
	Provider     string    `json:"provider,omitempty" doc:"The provider; absent if it was not recorded, and unless by contains provider."`
	Model        string    `json:"model,omitempty" doc:"The model; absent if it was not recorded, and unless by contains model."`
	Label        string    `json:"label,omitempty" doc:"A label of the run, as KEY=VALUE; absent if the run has none with the requested key."`
	Calls        int64     `json:"calls" doc:"The number of model calls."`
	InputTokens  int64     `json:"inputTokens"`
	OutputTokens int64     `json:"outputTokens"`
	Cost         float64   `json:"cost" doc:"The cost, in the currency of the prices in the configuration; 0 without prices."`
}

// SpendSums is a page of the usage of models.
type SpendSums struct {
	List[Spend]
	Since time.Time `json:"since" doc:"The beginning of the sums."`
	Cut   bool      `json:"cut" doc:"Whether there are too many sums, so that they begin later than requested."`
}

// SpendOf returns a sum as the API sends it.
func SpendOf(s domain.Spend) Spend {
	return Spend{From: s.From, Plan: s.PlanKey, Agent: s.Agent, Provider: s.Provider, Model: s.Model, Label: s.Label, Calls: s.Calls,
		InputTokens: s.Usage.InputTokens, OutputTokens: s.Usage.OutputTokens, Cost: s.Usage.Cost}
}

// SpendBy are the names that spend can be summed by.
var SpendBy = []string{"plan", "agent", "provider", "model", "label"}

// SpendPeriods are the periods of sums.
var SpendPeriods = []string{"hour", "day", "month"}

// SpendKeysOf returns the keys for names of [SpendBy].
func SpendKeysOf(by []string) domain.SpendKeys {
	has := func(name string) bool { return slices.Contains(by, name) }
	return domain.SpendKeys{Plan: has("plan"), Agent: has("agent"), Provider: has("provider"), Model: has("model"), Label: has("label")}
}
