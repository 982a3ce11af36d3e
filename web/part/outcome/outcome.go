// Package outcome draws charts of the outcomes of runs over time.
package outcome

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/ui"
)

// Columns is the number of columns of a chart.
const Columns = 48

// Span is the time range of a chart, with columns of equal length.
type Span struct {
	From   time.Time
	Column time.Duration
}

// Day returns the last 24 hours, in half hours.
func Day(now time.Time) Span {
	return Span{now.Truncate(domain.OutcomeSlot).Add(-(Columns - 1) * domain.OutcomeSlot), domain.OutcomeSlot}
}

// Between returns a range that includes from and to. The length of its columns is a multiple of half
// an hour.
func Between(from, to time.Time) Span {
	column := ((to.Sub(from)/Columns + domain.OutcomeSlot - 1) / domain.OutcomeSlot) * domain.OutcomeSlot
	column = max(column, domain.OutcomeSlot)
	return Span{to.Truncate(domain.OutcomeSlot).Add(domain.OutcomeSlot - Columns*column), column}
}

// Chart draws outcomes. Each column links to the runs that ended in it. query is the list's filter
// without a time range.
func Chart(c *ui.Context, outcomes []domain.Outcome, of Span, query string) kit.Chart {
	counts := make([][3]int64, Columns)
	for _, o := range outcomes {
		i := int(o.From.Sub(of.From) / of.Column)
		if o.From.Before(of.From) || i >= Columns {
			continue
		}
		switch o.Status {
		case domain.RunCompleted:
			counts[i][0] += o.Runs
		case domain.RunFailed:
			counts[i][2] += o.Runs
		default:
			counts[i][1] += o.Runs
		}
	}
	data := make([]kit.ChartData, Columns)
	for i, n := range counts {
		begins := of.From.Add(time.Duration(i) * of.Column)
		data[i] = kit.ChartData{
			Counts: counts[i][:],
			Href:   link.List("/runs", query+" since:"+stamp(begins)+" until:"+stamp(begins.Add(of.Column))),
			Label:  c.T("%s: %s completed, %s failed, %s cancelled", c.Time(begins).Text, c.Number(n[0]), c.Number(n[2]), c.Number(n[1])),
		}
	}
	chart := kit.Stack(data, []string{"g-ok", "g-idle", "g-fail"}, c.Number)
	chart.Label = c.T("Runs over time, and how they ended")
	form := "15:04"
	if of.Column > time.Hour {
		form = "01-02 15:04"
	}
	for i := 0; i < Columns; i += 6 {
		at := of.From.Add(time.Duration(i) * of.Column).In(c.Display.Zone)
		chart.Ticks = append(chart.Ticks, kit.ChartText{At: kit.Percent(100 * float64(i) / Columns), Text: at.Format(form)})
	}
	return chart
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
