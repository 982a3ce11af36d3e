package record

import (
	"sync"

	"github.com/kairosd/kairosd/internal/diff/rundiff"
	"github.com/kairosd/kairosd/internal/domain"
	part "github.com/kairosd/kairosd/web/part/run"
)

// past reads data about earlier runs, at most once each.
type past struct {
	// Flow returns the statistics of the plan's steps over recent runs. Good returns the last
	// completed run before this one.
	Flow func() (domain.PlanFlow, error)
	Good func() (domain.Run, error)
}

func (r *Request) past(run domain.Run) past {
	return past{
		Flow: sync.OnceValues(func() (domain.PlanFlow, error) {
			return r.Reader.PlanFlow(r.Context, run.PlanKey, 0, r.Site.Now().Add(-domain.ExpectedSince))
		}),
		Good: sync.OnceValues(func() (domain.Run, error) {
			good, err := rundiff.LastGood(r.Context, r.Reader, run)
			if err != nil || good.ID == "" {
				return good, err
			}
			return r.Reader.FindRun(r.Context, good.ID) // runs of lists have no input
		}),
	}
}

// ExpectedOf returns the estimated duration and cost of an action from earlier runs of the plan, or
// nil if there are none.
func (b *Record) ExpectedOf(pre domain.Preview) (*domain.Expected, error) {
	if !pre.Allowed || len(pre.Again)+len(pre.New) == 0 {
		return nil, nil
	}
	flow, err := b.Flow()
	if err != nil {
		return nil, err
	}
	return flow.Expect(pre.Again, pre.New), nil
}

// Expected describes the estimate in a sentence.
func (b *Record) Expected(pre domain.Preview) (string, error) {
	e, err := b.ExpectedOf(pre)
	return part.Expectation(b.Context, e, 1), err
}
