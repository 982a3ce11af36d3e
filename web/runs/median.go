package runs

import (
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/ui"
)

const (
	// medianPlans is the maximum number of plans in a list whose median is computed.
	medianPlans = 25
	// medianRuns is the number of recent runs from which a median is computed. Plans with fewer
	// than medianLeast completed runs have no median.
	medianRuns, medianLeast = 20, 3
	// slow is the ratio of a duration to the median from which it is highlighted.
	slow = 2.0
)

// compared compares the duration of each run with the median of its plan.
func (s *section) compared(c *ui.Context, rows []part.Row, list []domain.Run) error {
	medians := map[string]time.Duration{}
	for i, run := range list {
		if run.Status == domain.RunWaiting || run.Status == domain.RunQueued {
			continue // its duration depends on what it waits for
		}
		median, known := medians[run.PlanKey]
		if !known && len(medians) < medianPlans {
			var err error
			if median, err = s.median(c, run.PlanKey); err != nil {
				return err
			}
			medians[run.PlanKey] = median
		}
		if median <= 0 {
			continue
		}
		rows[i].Typical = typical(c, took(run, c.Site.Now()), median)
	}
	return nil
}

// typical compares a duration with a median.
func typical(c *ui.Context, took, median time.Duration) *part.Typical {
	ratio := float64(took) / float64(median)
	const shown = 3.0 // ratio at the right end of the bar
	t := &part.Typical{
		Title: c.T("Median of the plan: %s", kit.Duration(median)),
		Bar:   kit.Percent(100 * min(ratio/shown, 1)),
		Mark:  kit.Percent(100 / shown),
	}
	if ratio >= slow {
		digits := 1
		if ratio >= 10 {
			digits = 0
		}
		t.Ratio = c.T("%s× median", c.Display.Lang.Decimal(ratio, digits))
	}
	return t
}

func took(run domain.Run, now time.Time) time.Duration {
	if run.EndedAt.IsZero() {
		return now.Sub(run.CreatedAt)
	}
	return run.EndedAt.Sub(run.CreatedAt)
}

// median returns the median duration of the last completed runs of a plan, or 0 if too few
// completed.
func (s *section) median(c *ui.Context, plan string) (time.Duration, error) {
	runs, err := s.Reader.LastRuns(c, plan, medianRuns)
	if err != nil {
		return 0, err
	}
	var done []time.Duration
	for _, r := range runs {
		if r.Status == domain.RunCompleted {
			done = append(done, r.EndedAt.Sub(r.CreatedAt))
		}
	}
	if len(done) < medianLeast {
		return 0, nil
	}
	slices.Sort(done)
	return done[len(done)/2], nil
}
