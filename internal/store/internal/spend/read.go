package spend

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// maxRows is the maximum number of stored sums that a list reads.
const maxRows = 50_000

// scale returns the grain of periods of a length, and the length of its slots.
func scale(period time.Duration) (grain int64, slot time.Duration) {
	if period >= day {
		return days, day
	}
	return halfHours, domain.OutcomeSlot
}

// List returns the usage of model calls. If there are more than 50,000 sums, it leaves out the oldest periods: from is
// the beginning of what it read.
func List(ctx context.Context, q *dbsqlc.Queries, r domain.SpendRead) (list []domain.Spend, from time.Time, err error) {
	grain, length := scale(r.Period)
	seconds := int64(length / time.Second)
	since := floor(r.Since.Unix(), seconds)
	cut := q.SpendCut
	if r.Labels {
		cut = q.SpendLabelCut
	}
	switch last, err := cut(ctx, grain, since, maxRows); {
	case err == nil:
		since = last + 1
		if slots := int64(r.Period / length); since%slots != 0 { // no period is cut
			since += slots - since%slots
		}
	case !errors.Is(err, sql.ErrNoRows):
		return nil, from, core.Translate(err, "read the spend")
	}
	from = time.Unix(since*seconds, 0).UTC()
	if r.Labels {
		list, err = labels(ctx, q, r, grain, since)
	} else {
		list, err = all(ctx, q, r, grain, since)
	}
	return list, from, core.Translate(err, "read the spend")
}

func floor(n, unit int64) int64 {
	if n < 0 {
		return 0
	}
	return n / unit
}

func all(ctx context.Context, q *dbsqlc.Queries, r domain.SpendRead, grain, since int64) ([]domain.Spend, error) {
	_, length := scale(r.Period)
	rows, err := q.SpendList(ctx, dbsqlc.SpendListParams{Slots: int64(r.Period / length), Grain: grain, Since: since, Max: maxRows})
	out := make([]domain.Spend, len(rows))
	for i, x := range rows {
		out[i] = domain.Spend{From: starts(r, x.Part), PlanKey: x.Key, Agent: x.Agent, Provider: x.Provider, Model: x.Model, Calls: x.Calls,
			Usage: domain.Usage{InputTokens: x.InputTokens, OutputTokens: x.OutputTokens, Cost: x.Cost}}
	}
	return out, err
}

func labels(ctx context.Context, q *dbsqlc.Queries, r domain.SpendRead, grain, since int64) ([]domain.Spend, error) {
	_, length := scale(r.Period)
	rows, err := q.SpendLabelList(ctx, dbsqlc.SpendLabelListParams{Slots: int64(r.Period / length), Grain: grain, Since: since,
		Name: r.Label, Max: maxRows})
	out := make([]domain.Spend, len(rows))
	for i, x := range rows {
		out[i] = domain.Spend{From: starts(r, x.Part), PlanKey: x.PlanKey, Agent: x.Agent, Provider: x.Provider, Model: x.Model,
			Label: x.Key + "=" + x.Value, Calls: x.Calls,
			Usage: domain.Usage{InputTokens: x.InputTokens, OutputTokens: x.OutputTokens, Cost: x.Cost}}
	}
	return out, err
}

// starts returns the beginning of the nth period since 1970.
func starts(r domain.SpendRead, n int64) time.Time {
	return time.Unix(n*int64(r.Period/time.Second), 0).UTC()
}

// Since returns the recorded usage of a scope since the half hour that contains a time.
func Since(ctx context.Context, q *dbsqlc.Queries, since time.Time, of domain.BudgetSeed) (calls int64, tokens, cost float64, err error) {
	first := core.SlotOf(core.Micros(since))
	whole := (first + slotsOfDay - 1) / slotsOfDay // the first day that is not cut
	for _, part := range []struct{ grain, from, until int64 }{{halfHours, first, whole * slotsOfDay}, {days, whole, 1 << 40}} {
		var sum dbsqlc.SpendSeedRow
		if of.Label != "" {
			var row dbsqlc.SpendLabelSeedRow
			row, err = q.SpendLabelSeed(ctx, dbsqlc.SpendLabelSeedParams{Grain: part.grain, Since: part.from, Until: part.until,
				Key: of.Label, Value: of.Value})
			sum = dbsqlc.SpendSeedRow(row)
		} else {
			sum, err = q.SpendSeed(ctx, dbsqlc.SpendSeedParams{Grain: part.grain, Since: part.from, Until: part.until,
				Plan: of.Plan, Agent: of.Agent, Provider: of.Provider})
		}
		if err != nil {
			return 0, 0, 0, err
		}
		calls, tokens, cost = calls+sum.Calls, tokens+sum.Tokens, cost+sum.Cost
	}
	return calls, tokens, cost, nil
}
