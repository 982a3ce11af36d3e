// Package spend adds up the usage of model calls by time, plan, agent, provider, model, and label.
package spend

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// Grains of the stored sums.
const (
	halfHours = 0
	days      = 1
)

const day = 24 * time.Hour

// slotsOfDay is the number of half hours of a day.
const slotsOfDay = int64(day / domain.OutcomeSlot)

// Of returns the usage of the model calls in a checkpoint. A row that ends the wait for a child run
// repeats the usage of the child, and is left out.
func Of(entries []domain.Entry) []dbsqlc.SpendAddParams {
	var out []dbsqlc.SpendAddParams
	for _, e := range entries {
		if e.Usage.Zero() || e.Kind == domain.EntryResult && e.Ref != "" {
			continue
		}
		agent, model := calledModel(e)
		out = append(out, dbsqlc.SpendAddParams{Slot: core.SlotOf(core.Micros(e.At)), Agent: agent, Provider: e.Provider, Model: model,
			Calls: 1, InputTokens: e.Usage.InputTokens, OutputTokens: e.Usage.OutputTokens, Cost: e.Usage.Cost})
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
type Sums struct {
	all    map[key]dbsqlc.SpendAddParams
	labels map[labelKey]dbsqlc.SpendLabelAddParams
}

type key struct {
	grain, slot, plan      int64
	agent, provider, model string
}

type labelKey struct {
	key
	name, value string
}

// NewSums returns empty sums.
func NewSums() Sums {
	return Sums{map[key]dbsqlc.SpendAddParams{}, map[labelKey]dbsqlc.SpendLabelAddParams{}}
}

// Clear removes all sums.
func (s Sums) Clear() {
	clear(s.all)
	clear(s.labels)
}

// Add adds the usage of calls of a run with its current labels.
func (s Sums) Add(ctx context.Context, q *dbsqlc.Queries, run, plan int64, list []dbsqlc.SpendAddParams) error {
	if len(list) == 0 {
		return nil
	}
	labels, err := q.LabelsOfRun(ctx, run)
	if err != nil {
		return err
	}
	for _, add := range list {
		add.PlanID = plan
		s.add(add, labels)
		add.Grain, add.Slot = days, add.Slot/slotsOfDay
		s.add(add, labels)
	}
	return nil
}

func (s Sums) add(add dbsqlc.SpendAddParams, labels []dbsqlc.LabelsOfRunRow) {
	k := key{add.Grain, add.Slot, add.PlanID, add.Agent, add.Provider, add.Model}
	for _, l := range labels {
		lk := labelKey{k, l.Key, l.Value}
		sum := s.labels[lk]
		s.labels[lk] = dbsqlc.SpendLabelAddParams{Grain: add.Grain, Slot: add.Slot, Key: l.Key, Value: l.Value, PlanID: add.PlanID,
			Agent: add.Agent, Provider: add.Provider, Model: add.Model, Calls: sum.Calls + add.Calls,
			InputTokens: sum.InputTokens + add.InputTokens, OutputTokens: sum.OutputTokens + add.OutputTokens, Cost: sum.Cost + add.Cost}
	}
	sum := s.all[k]
	add.Calls, add.Cost = add.Calls+sum.Calls, add.Cost+sum.Cost
	add.InputTokens, add.OutputTokens = add.InputTokens+sum.InputTokens, add.OutputTokens+sum.OutputTokens
	s.all[k] = add
}

// Write adds the collected usage to the stored sums.
func (s Sums) Write(ctx context.Context, q *dbsqlc.Queries) error {
	for _, add := range s.all {
		if err := q.SpendAdd(ctx, add); err != nil {
			return err
		}
	}
	for _, add := range s.labels {
		if err := q.SpendLabelAdd(ctx, add); err != nil {
			return err
		}
	}
	s.Clear()
	return nil
}

// Prune deletes sums that are no longer kept, at most max of each kind. more reports that there may be others.
func Prune(ctx context.Context, q *dbsqlc.Queries, now time.Time, max int64) (more bool, err error) {
	slot := core.SlotOf(core.Micros(now.Add(-domain.SpendHours)))
	n, err := q.SpendPrune(ctx, halfHours, slot, max)
	if err != nil {
		return false, err
	}
	labels, err := q.SpendLabelPrune(ctx, halfHours, slot, max)
	if err != nil {
		return false, err
	}
	old, err := q.SpendLabelPrune(ctx, days, core.SlotOf(core.Micros(now.Add(-domain.SpendLabelDays)))/slotsOfDay, max)
	return n == max || labels == max || old == max, err
}
