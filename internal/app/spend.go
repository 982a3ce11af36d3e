package app

import (
	"context"
	"encoding/csv"
	"io"
	"strconv"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

type spendStore interface {
	Spend(ctx context.Context, since time.Time, period time.Duration) ([]domain.Spend, error)
}

// SpendQuery selects the usage of model calls.
type SpendQuery struct {
	// Since is rounded down to a half hour.
	Since time.Time
	// Period is the length of the periods: a number of half hours that divides a day. 0 means one
	// period from Since to now.
	Period time.Duration
	By     domain.SpendKeys
}

// Spend returns the usage and the cost of model calls.
//
// Errors: invalid (the period), forbidden.
func (p *Providers) Spend(ctx context.Context, by domain.Actor, q SpendQuery) ([]domain.Spend, error) {
	if err := p.allow(ctx, GetSpend, by, ""); err != nil {
		return nil, err
	}
	const day = 24 * time.Hour
	period := q.Period
	if period == 0 {
		period = day
	}
	if period < domain.OutcomeSlot || period%domain.OutcomeSlot != 0 || day%period != 0 {
		return nil, domain.Errorf(domain.CodeInvalid, "invalid period %s", period).
			Suggest("use a number of half hours that divides a day, such as 1h or 24h")
	}
	list, err := p.store.Spend(ctx, q.Since, period)
	if err != nil {
		return nil, err
	}
	if q.Period == 0 {
		for i := range list {
			list[i].From = q.Since.UTC().Truncate(domain.OutcomeSlot)
		}
	}
	return domain.SumSpend(list, q.By), nil
}

// WriteSpendCSV writes sums as CSV, with a column for each selected name.
func WriteSpendCSV(w io.Writer, by domain.SpendKeys, list []domain.Spend) error {
	out := csv.NewWriter(w)
	row := func(from, plan, agent, model string, figures ...string) error {
		cells := []string{from}
		for _, c := range []struct {
			on   bool
			text string
		}{{by.Plan, plan}, {by.Agent, agent}, {by.Model, model}} {
			if c.on {
				cells = append(cells, domain.CSVCell(c.text))
			}
		}
		return out.Write(append(cells, figures...))
	}
	if err := row("from", "plan", "agent", "model", "calls", "input_tokens", "output_tokens", "cost"); err != nil {
		return err
	}
	for _, e := range list {
		if err := row(e.From.UTC().Format(time.RFC3339), e.PlanKey, e.Agent, e.Model, strconv.FormatInt(e.Calls, 10),
			strconv.FormatInt(e.Usage.InputTokens, 10), strconv.FormatInt(e.Usage.OutputTokens, 10),
			strconv.FormatFloat(e.Usage.Cost, 'f', 6, 64)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
