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
	Spend(ctx context.Context, r domain.SpendRead) (list []domain.Spend, from time.Time, err error)
}

// Month is the period of a [SpendQuery] of calendar months.
const Month = 30 * spendDay

const spendDay = 24 * time.Hour

// spendDetail is how far back one sum reads half hours. It reads days from before.
const spendDetail = 31 * spendDay

// SpendQuery selects the usage of model calls.
type SpendQuery struct {
	// Since is rounded down to a half hour, or to a day or a month in UTC if the period has that length.
	Since time.Time
	// Period is the length of the periods: a number of half hours that divides a day, or [Month] for calendar months, in
	// UTC. 0 means one period from Since to now. If that is more than 31 days, it begins with a day.
	Period time.Duration
	By     domain.SpendKeys
	// Label is the key of the only label to sum by, so that each call counts once. Calls of runs without the label
	// have an empty label. Otherwise, a call counts for each label of its run.
	Label string
}

// SpendSums are the result of a [SpendQuery].
type SpendSums struct {
	Items []domain.Spend
	// Since is the beginning of the sums. Cut reports that it is later than requested, because there are too many sums.
	Since time.Time
	Cut   bool
}

// Spend returns the usage and the cost of model calls.
//
// Errors: invalid (the period, or a label without By.Label), forbidden.
func (p *Providers) Spend(ctx context.Context, by domain.Actor, q SpendQuery) (SpendSums, error) {
	if err := p.allow(ctx, GetSpend, by, ""); err != nil {
		return SpendSums{}, err
	}
	if q.Label != "" && !q.By.Label {
		return SpendSums{}, domain.Errorf(domain.CodeInvalid, "label %q has no effect", q.Label).Suggest("add label to by")
	}
	read, err := q.read(p.engine.Timed().Now())
	if err != nil {
		return SpendSums{}, err
	}
	out := SpendSums{Since: read.Since}
	list, from, err := p.store.Spend(ctx, read)
	if err != nil {
		return out, err
	}
	if q.By.Label {
		all := list
		read.Labels, read.Label = true, q.Label
		var later time.Time
		if list, later, err = p.store.Spend(ctx, read); err != nil {
			return out, err
		}
		if later.After(from) {
			from = later
		}
		if q.Label != "" {
			list = append(list, domain.Unlabelled(q.from(all, from), q.from(list, from), allButLabel)...)
		}
	}
	if out.Cut = from.After(read.Since); out.Cut {
		out.Since = from
	}
	list = q.from(list, from)
	for i := range list {
		switch q.Period {
		case 0:
			list[i].From = out.Since
		case Month:
			list[i].From = monthStart(list[i].From)
		}
	}
	out.Items = domain.SumSpend(list, q.By)
	return out, nil
}

// allButLabel selects every name that a stored sum has.
var allButLabel = domain.SpendKeys{Plan: true, Agent: true, Provider: true, Model: true}

// from returns the sums of periods that begin at a time or later.
func (q SpendQuery) from(list []domain.Spend, at time.Time) []domain.Spend {
	out := make([]domain.Spend, 0, len(list))
	for _, e := range list {
		if !e.From.Before(at) {
			out = append(out, e)
		}
	}
	return out
}

// read returns what to read for a query.
func (q SpendQuery) read(now time.Time) (domain.SpendRead, error) {
	r := domain.SpendRead{Since: q.Since.UTC(), Period: q.Period}
	switch {
	case q.Period == 0 && now.Sub(q.Since) > spendDetail:
		r.Period = spendDay
	case q.Period == 0:
		r.Period = domain.OutcomeSlot
	case q.Period == Month:
		r.Since, r.Period = monthStart(q.Since), spendDay
	case q.Period < domain.OutcomeSlot || q.Period%domain.OutcomeSlot != 0 || spendDay%q.Period != 0:
		return r, domain.Errorf(domain.CodeInvalid, "invalid period %s", q.Period).
			Suggest("use a number of half hours that divides a day, such as 1h or 24h, or a month")
	}
	r.Since = r.Since.Truncate(r.Period)
	return r, nil
}

func monthStart(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// WriteSpendCSV writes sums as CSV, with a column for each selected name.
func WriteSpendCSV(w io.Writer, by domain.SpendKeys, list []domain.Spend) error {
	out := csv.NewWriter(w)
	row := func(from string, names [5]string, figures ...string) error {
		cells := []string{from}
		for i, on := range []bool{by.Plan, by.Agent, by.Provider, by.Model, by.Label} {
			if on {
				cells = append(cells, domain.CSVCell(names[i]))
			}
		}
		return out.Write(append(cells, figures...))
	}
	if err := row("from", [5]string{"plan", "agent", "provider", "model", "label"}, "calls", "input_tokens", "output_tokens",
		"cost"); err != nil {
		return err
	}
	for _, e := range list {
		if err := row(e.From.UTC().Format(time.RFC3339), [5]string{e.PlanKey, e.Agent, e.Provider, e.Model, e.Label},
			strconv.FormatInt(e.Calls, 10), strconv.FormatInt(e.Usage.InputTokens, 10),
			strconv.FormatInt(e.Usage.OutputTokens, 10), strconv.FormatFloat(e.Usage.Cost, 'f', 6, 64)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
