package home

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/outcome"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

const (
	// sampleRuns is the number of recently ended runs from which the duration is computed.
	sampleRuns = 200
	// sparkPoints is the number of points of a trend line.
	sparkPoints = 12
	// marksMax is the maximum number of marked changes in a chart. marksApart is the minimum
	// distance of their labels, in percent.
	marksMax   = 60
	marksApart = 14.0
)

// figuresSection builds the key figures of the last 24 hours, each with its trend.
func (s *section) figuresSection(c *ui.Context) (templ.Component, error) {
	from := firstSlot(c.Site.Now())
	outcomes, err := s.Reader.Outcomes(c, from.Add(-stripSlots*domain.OutcomeSlot))
	if err != nil {
		return nil, err
	}
	var p FiguresSection
	p.Figures = append(p.Figures, rateFigure(c, outcomes, from), runsFigure(c, outcomes, from))
	runs, err := s.ended(c)
	if err != nil {
		return nil, err
	}
	p.Figures = append(p.Figures, durationFigure(c, runs))
	v, err := s.System.HealthMetrics(c)
	if err != nil {
		return nil, err
	}
	slots := Figure{Title: c.T("Active runs"), Value: c.Number(int64(v.Working))}
	var remarks []string
	if v.Slots > 0 {
		remarks = append(remarks, c.T("of %s slots", c.Number(int64(v.Slots))))
	}
	if v.Queued > 0 {
		remarks = append(remarks, c.N(v.Queued, "%s queued", "%s queued"))
	}
	slots.Remark = strings.Join(remarks, " · ")
	if v.Slots > 0 {
		slots.Share = kit.Percent(100 * float64(v.Working) / float64(v.Slots))
	}
	spend, err := s.spendFigure(c, from)
	if err != nil {
		return nil, err
	}
	p.Figures = append(p.Figures, slots, spend)
	return Figures(p), nil
}

// firstSlot returns the start of the first of the last 48 half hours.
func firstSlot(now time.Time) time.Time {
	return now.Truncate(domain.OutcomeSlot).Add(-(stripSlots - 1) * domain.OutcomeSlot)
}

// ended returns the newest runs that completed or failed.
func (s *section) ended(c *ui.Context) ([]domain.Run, error) {
	list, err := s.Reader.Runs(c, domain.RunFilter{
		Statuses: []domain.RunStatus{domain.RunCompleted, domain.RunFailed},
		Page:     domain.Page{Limit: sampleRuns},
	})
	return list.Items, err
}

type tally struct{ ok, failed int64 }

func (t tally) all() int64 { return t.ok + t.failed }

func (t tally) rate() float64 { return float64(t.ok) / float64(max(t.all(), 1)) }

// tallies counts the runs of the 24 hours before from and of the 24 hours after it. series splits
// the latter into equal parts.
func tallies(outcomes []domain.Outcome, from time.Time, parts int) (before, day tally, series []tally) {
	series = make([]tally, parts)
	for _, o := range outcomes {
		of := &before
		slot := int(o.From.Sub(from) / domain.OutcomeSlot)
		if !o.From.Before(from) {
			of = &day
		}
		var n tally
		switch o.Status {
		case domain.RunCompleted:
			n.ok = o.Runs
		case domain.RunFailed:
			n.failed = o.Runs
		}
		of.ok, of.failed = of.ok+n.ok, of.failed+n.failed
		if !o.From.Before(from) && slot < stripSlots {
			at := &series[slot*parts/stripSlots]
			at.ok, at.failed = at.ok+n.ok, at.failed+n.failed
		}
	}
	return before, day, series
}

func rateFigure(c *ui.Context, outcomes []domain.Outcome, from time.Time) Figure {
	before, day, series := tallies(outcomes, from, sparkPoints)
	f := Figure{Title: c.T("Success rate"), Value: "–", Of: c.T("24 hours")}
	if day.all() == 0 {
		return f
	}
	f.Value = c.Display.Lang.Percent(day.rate())
	var points []float64
	for _, t := range series {
		if t.all() > 0 {
			points = append(points, t.rate())
		}
	}
	f.Spark = kit.Spark(points)
	if before.all() > 0 {
		f.trend(c, day.rate()-before.rate(), c.T("%s points", c.Display.Lang.Decimal(100*abs(day.rate()-before.rate()), 1)), true)
	}
	return f
}

func runsFigure(c *ui.Context, outcomes []domain.Outcome, from time.Time) Figure {
	before, day, series := tallies(outcomes, from, sparkPoints)
	f := Figure{Title: c.T("Runs ended"), Value: c.Number(day.all()), Of: c.T("24 hours")}
	var points []float64
	for _, t := range series {
		points = append(points, float64(t.all()))
	}
	f.Spark = kit.Spark(points)
	if before.all() > 0 {
		change := float64(day.all())/float64(before.all()) - 1
		f.trend(c, change, c.Display.Lang.Percent(abs(change)), true)
		f.Good, f.Bad = false, false // neither better nor worse
	}
	return f
}

func durationFigure(c *ui.Context, runs []domain.Run) Figure {
	f := Figure{Title: c.T("p95 duration"), Value: "–", Of: c.N(len(runs), "last %s run", "last %s runs")}
	if len(runs) == 0 {
		return f
	}
	f.Value = kit.Duration(p95(runs))
	slices.Reverse(runs) // oldest first
	defer slices.Reverse(runs)
	if len(runs) >= 2*sparkPoints {
		var points []float64
		for part := range slices.Chunk(runs, (len(runs)+sparkPoints-1)/sparkPoints) {
			points = append(points, p95(part).Seconds())
		}
		f.Spark = kit.Spark(points)
		older, newer := p95(runs[:len(runs)/2]), p95(runs[len(runs)/2:])
		f.trend(c, (newer - older).Seconds(), kit.Duration((newer - older).Abs()), false)
	}
	return f
}

// p95 returns the 95th percentile of the durations.
func p95(runs []domain.Run) time.Duration {
	took := make([]time.Duration, len(runs))
	for i, run := range runs {
		took[i] = run.EndedAt.Sub(run.CreatedAt)
	}
	slices.Sort(took)
	return took[(len(took)*95+99)/100-1]
}

// spendFigure returns the cost of model calls in the last 24 hours, compared with the 24 hours
// before.
func (s *section) spendFigure(c *ui.Context, from time.Time) (Figure, error) {
	list, err := s.spend(c, from.Add(-stripSlots*domain.OutcomeSlot), domain.SpendKeys{})
	if err != nil {
		return Figure{}, err
	}
	before, day, points := 0.0, 0.0, make([]float64, sparkPoints)
	for _, e := range list {
		if e.From.Before(from) {
			before += e.Usage.Cost
			continue
		}
		day += e.Usage.Cost
		points[min(int(e.From.Sub(from)/domain.OutcomeSlot), stripSlots-1)*sparkPoints/stripSlots] += e.Usage.Cost
	}
	f := Figure{Title: c.T("Model spend"), Value: value.Money(c, day), Of: c.T("24 hours"), Href: "/agents/spend"}
	if day > 0 {
		f.Spark = kit.Spark(points)
	}
	if before > 0 {
		f.trend(c, day-before, value.Money(c, abs(day-before)), false)
		f.Good, f.Bad = false, false // neither better nor worse
	}
	return f, nil
}

// spend returns the usage of model calls per half hour since a time.
func (s *section) spend(c *ui.Context, since time.Time, by domain.SpendKeys) ([]domain.Spend, error) {
	sums, err := s.App.Providers.Spend(c, c.Principal.Actor(), app.SpendQuery{Since: since, Period: domain.OutcomeSlot, By: by})
	return sums.Items, err
}

// trend sets the change of a figure, and whether it is good.
func (f *Figure) trend(c *ui.Context, change float64, text string, moreIsBetter bool) {
	switch {
	case abs(change) < 1e-9:
		return
	case change > 0:
		f.Change = c.T("▲ %s", text)
	default:
		f.Change = c.T("▼ %s", text)
	}
	f.Good = change > 0 == moreIsBetter
	f.Bad = !f.Good
}

func abs(f float64) float64 { return max(f, -f) }

// chartSection builds the chart of ended runs by half hour, with marks for changes of plans and
// restarts.
func (s *section) chartSection(c *ui.Context) (templ.Component, error) {
	day := outcome.Day(c.Site.Now())
	outcomes, err := s.Reader.Outcomes(c, day.From)
	if err != nil || len(outcomes) == 0 {
		return nil, err
	}
	chart := outcome.Chart(c, outcomes, day, "")
	if chart.Marks, err = s.marks(c, day.From); err != nil {
		return nil, err
	}
	return ChartOfDay(chart), nil
}

// marks returns the times at which a plan got a new version or kairosd started. Marks without room
// for separate labels share one.
func (s *section) marks(c *ui.Context, from time.Time) ([]kit.ChartText, error) {
	list, err := s.App.Audit.List(c, c.Principal.Actor(), domain.AuditFilter{
		Actions: []string{"plan.version", "daemon.start"}, Since: from, Page: domain.Page{Limit: marksMax},
	})
	if err != nil {
		return nil, err
	}
	var out []kit.ChartText
	last, n := 200.0, 0
	for _, e := range list.Items { // newest first
		text := change(c, e)
		if text == "" {
			continue
		}
		at := 100 * float64(e.At.Sub(from)) / float64(stripSlots*domain.OutcomeSlot)
		if last-at < marksApart {
			n++
			mark := &out[len(out)-1]
			mark.Text, mark.Title = c.N(n, "%s change", "%s changes"), mark.Title+"\n"+text
			continue
		}
		last, n = at, 1
		out = append(out, kit.ChartText{At: kit.Percent(at), Text: kit.Truncate(text, 24), Title: text, Before: at > 20})
	}
	return out, nil
}

// change returns the label of an audit event that may affect runs. It is empty for others, such as
// the first version of a plan.
func change(c *ui.Context, e domain.AuditEvent) string {
	if e.Action == "daemon.start" {
		return c.T("restart")
	}
	var v struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(e.Detail, &v); err != nil || v.Version < 2 {
		return ""
	}
	return fmt.Sprintf("%s v%d", kit.Escape(strings.TrimPrefix(e.Object, "plan:")), v.Version)
}
