package store

import (
	"cmp"
	"encoding/json"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// spendOf returns what the calls of models in a checkpoint used. A row that ends the wait for a child
// run repeats what the child used, and is left out.
func spendOf(entries []domain.Entry) []dbsqlc.SpendAddParams {
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

// calledModel returns the agent and the model of a call. The answer names the model that gave it, the
// request the one that is configured; empty: the provider's default.
func calledModel(e domain.Entry) (agent, model string) {
	var request struct{ Agent, Model string }
	var answer struct{ Model string }
	_ = json.Unmarshal(e.Input, &request) // another form has no names
	_ = json.Unmarshal(e.Output, &answer)
	return cmp.Or(e.Agent, request.Agent), cmp.Or(answer.Model, request.Model)
}

// spent adds what calls of a run used.
func (t *tally) spent(st *runState, list []dbsqlc.SpendAddParams) {
	for _, add := range list {
		add.PlanID = st.PlanID
		k := spendKey{add.PlanID, add.Slot, add.Agent, add.Model}
		sum := t.spend[k]
		add.Calls, add.Cost = add.Calls+sum.Calls, add.Cost+sum.Cost
		add.InputTokens, add.OutputTokens = add.InputTokens+sum.InputTokens, add.OutputTokens+sum.OutputTokens
		t.spend[k] = add
	}
}
