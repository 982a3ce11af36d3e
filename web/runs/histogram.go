package runs

import (
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/outcome"
	"github.com/kairosd/kairosd/web/ui"
)

// histogramMost is the longest time range of a histogram.
const histogramMost = 31 * 24 * time.Hour

// histogram draws the outcomes of runs over time, by default of the last 24 hours. It returns nil
// for queries with other keys than plan, status, and time, because no counters exist for them.
func (s *section) histogram(c *ui.Context, q string) (*kit.Chart, error) {
	f, problem := filter.Parse(q, c.Site.Now())
	if problem != nil || !counted(q, f) {
		return nil, nil
	}
	now := c.Site.Now()
	span := outcome.Day(now)
	if !f.Since.IsZero() {
		to := now
		if !f.Until.IsZero() {
			to = f.Until
		}
		if to.Sub(f.Since) > histogramMost {
			return nil, nil
		}
		span = outcome.Between(f.Since, to)
	}
	all, err := s.Reader.Outcomes(c, span.From)
	if err != nil {
		return nil, err
	}
	plans := f.PlanKeys
	if f.PlanKey != "" {
		plans = append(plans, f.PlanKey)
	}
	all = slices.DeleteFunc(all, func(o domain.Outcome) bool {
		return len(plans) > 0 && !slices.Contains(plans, o.PlanKey) || len(f.Statuses) > 0 && !slices.Contains(f.Statuses, o.Status)
	})
	if len(all) == 0 {
		return nil, nil
	}
	chart := outcome.Chart(c, all, span, filter.Without(filter.Without(q, "since"), "until"))
	return &chart, nil
}

// counted reports whether the outcome counters can answer a query.
func counted(q string, f domain.RunFilter) bool {
	for _, t := range filter.Terms(q) {
		key, _, _ := strings.Cut(t, ":")
		if !slices.Contains([]string{"plan", "status", "since", "until"}, key) {
			return false
		}
	}
	return !slices.ContainsFunc(f.Statuses, func(s domain.RunStatus) bool { return !s.Final() }) && len(f.WaitReasons) == 0
}
