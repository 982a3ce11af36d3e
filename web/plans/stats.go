package plans

import (
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/ui"
)

// planStats summarizes the latest runs of a plan.
func (s *section) planStats(c *ui.Context, plan string) (PlanStats, error) {
	var p PlanStats
	runs, err := s.Reader.LastRuns(c, plan, planRuns)
	if err != nil {
		return p, err
	}
	slices.Reverse(runs) // oldest first, so that the newest is at the right
	p.last(c, plan, runs)
	next, at, err := s.Reader.NextStart(c, plan)
	if err != nil {
		return p, err
	}
	if next != "" {
		p.NextHref, p.Next = "/runs/"+next, c.Time(at)
	}
	ends, err := s.Reader.PlanOutcomes(c, plan, c.Site.Now().AddDate(0, 0, -rateDays))
	if err != nil {
		return p, err
	}
	if n := ends[domain.RunCompleted] + ends[domain.RunFailed]; n > 0 {
		p.Rate = c.Display.Lang.Percent(float64(ends[domain.RunCompleted]) / float64(n))
		p.RateOf = c.N(int(n), "of %s run", "of %s runs")
		p.Bad = ends[domain.RunFailed] > 0
		p.FailedHref = link.List("/runs", "status:failed since:7d plan:"+filter.Quote(plan))
	}
	return p, nil
}

// last fills in the strip and the figures of the latest runs, oldest first.
func (p *PlanStats) last(c *ui.Context, plan string, runs []domain.Run) {
	now := c.Site.Now()
	var done []time.Duration
	longest, failed := time.Duration(1), 0
	for _, r := range runs {
		longest = max(longest, length(r, now))
		switch r.Status {
		case domain.RunCompleted:
			done = append(done, length(r, now))
		case domain.RunFailed:
			failed++
		}
	}
	for i, r := range runs {
		p.Strip = append(p.Strip, cell(r, planRuns-len(runs)+i, float64(length(r, now))/float64(longest)))
	}
	if len(runs) > 0 {
		p.Label = c.T("Of the last %d runs of %s, %d failed", len(runs), kit.Escape(plan), failed)
		newest := runs[len(runs)-1]
		p.Last, p.LastHref, p.LastAt = run.Status(c, newest), "/runs/"+newest.ID, c.Time(newest.CreatedAt)
	}
	if slices.Sort(done); len(done) > 0 {
		p.Median, p.Slow = kit.Duration(done[len(done)/2]), kit.Duration(done[len(done)*95/100])
	}
}

// length returns how long a run took, or how long it has been running.
func length(r domain.Run, now time.Time) time.Duration {
	if r.EndedAt.IsZero() {
		return now.Sub(r.CreatedAt)
	}
	return r.EndedAt.Sub(r.CreatedAt)
}

// cell returns the cell of a run in the strip. part is its duration as a fraction of the longest.
func cell(r domain.Run, place int, part float64) run.Cell {
	const w = 100.0 / planRuns
	h, class := 25+60*part, "g-ok"
	switch r.Status {
	case domain.RunFailed:
		class, h = "g-fail", 100
	case domain.RunRunning:
		class = "g-now"
	case domain.RunWaiting:
		class = "g-need"
	case domain.RunCancelled, domain.RunQueued:
		class = "g-idle"
	}
	return run.Cell{X: kit.Percent(float64(place) * w), W: kit.Percent(w * 0.8), Y: kit.Percent(100 - h), H: kit.Percent(h), Class: class}
}
