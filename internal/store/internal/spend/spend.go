// Package spend adds up the usage of model calls.
package spend

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// Of returns the usage of the model calls in a checkpoint. A row that ends the wait for a child run
// repeats the usage of the child, and is left out.
func Of(entries []domain.Entry) []dbsqlc.SpendAddParams {
	var out []dbsqlc.SpendAddParams
	for _, e := range entries {
		if e.Usage.Zero() || e.Kind == domain.EntryResult && e.Ref != "" {
			continue
		}
		agent, model := calledModel(e)
		out = append(out, dbsqlc.SpendAddParams{Slot: core.SlotOf(core.Micros(e.At)), Agent: agent, Model: model, Calls: 1,
			InputTokens: e.Usage.InputTokens, OutputTokens: e.Usage.OutputTokens, Cost: e.Usage.Cost})
	}
	return out
}

// calledModel returns the agent and the model of a call. The answer names the model that answered,
// and the request the configured one. Empty means the provider's default model.
func calledModel(e domain.Entry) (agent, model string) {
	var request struct{ Agent, Model string }
	var answer struct{ Model string }
	_ = json.Unmarshal(e.Input, &request) // other inputs contain no names
	_ = json.Unmarshal(e.Output, &answer)
	return cmp.Or(e.Agent, request.Agent), cmp.Or(answer.Model, request.Model)
}

// Sums collects the usage of the active transaction. Only the writer's goroutine uses it.
type Sums map[key]dbsqlc.SpendAddParams

type key struct {
	plan, slot   int64
	agent, model string
}

// Add adds the usage of a plan's calls.
func (s Sums) Add(plan int64, list []dbsqlc.SpendAddParams) {
	for _, add := range list {
		add.PlanID = plan
		k := key{plan, add.Slot, add.Agent, add.Model}
		sum := s[k]
		add.Calls, add.Cost = add.Calls+sum.Calls, add.Cost+sum.Cost
		add.InputTokens, add.OutputTokens = add.InputTokens+sum.InputTokens, add.OutputTokens+sum.OutputTokens
		s[k] = add
	}
}

// Write adds the collected usage to the stored sums.
func (s Sums) Write(ctx context.Context, q *dbsqlc.Queries) error {
	for _, add := range s {
		if err := q.SpendAdd(ctx, add); err != nil {
			return err
		}
	}
	clear(s)
	return nil
}
