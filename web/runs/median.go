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
	// medianPlans is for how many plans of a list the median is read.
	medianPlans = 25
	// medianRuns is of how many runs of a plan it is, and medianLeast of how many at least.
	medianRuns, medianLeast = 20, 3
	// slow is from how many medians on a duration stands out.
	slow = 2.0
)

// compared sets the duration of each run beside the median of its plan.
func (s *section) compared(c *ui.Context, rows []part.Row, list []domain.Run) error {
	medians := map[string]time.Duration{}
	for i, run := range list {
		if run.Status == domain.RunWaiting || run.Status == domain.RunQueued {
			continue // it takes as long as what it waits for
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

// typical is a duration beside a median.
func typical(c *ui.Context, took, median time.Duration) *part.Typical {
	ratio := float64(took) / float64(median)
	const shown = 3.0 // medians that the drawing has room for
	t := &part.Typical{
		Title: c.T("Median of the plan: %s", kit.Took(median)),
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

// median is how long the last completed runs of a plan took; 0: too few completed.
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
