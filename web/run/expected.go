package run

import (
	"sync"

	"github.com/kairosd/kairosd/internal/diff/rundiff"
	"github.com/kairosd/kairosd/internal/domain"
	part "github.com/kairosd/kairosd/web/part/run"
)

// past is what the page of a run reads of runs before it, each at most once.
type past struct {
	// flow is how runs of the plan went through its nodes; good is the last successful one.
	flow func() (domain.PlanFlow, error)
	good func() (domain.Run, error)
}

func (r *request) past(run domain.Run) past {
	return past{
		flow: sync.OnceValues(func() (domain.PlanFlow, error) {
			return r.Reader.PlanFlow(r.Context, run.PlanKey, 0, r.Site.Now().Add(-domain.ExpectedSince))
		}),
		good: sync.OnceValues(func() (domain.Run, error) {
			good, err := rundiff.LastGood(r.Context, r.Reader, run)
			if err != nil || good.ID == "" {
				return good, err
			}
			return r.Reader.FindRun(r.Context, good.ID) // a list has no input
		}),
	}
}

// expectedOf is the predicted duration and cost of an action, from earlier runs of the plan; nil without any.
func (b *record) expectedOf(pre domain.Preview) (*domain.Expected, error) {
	if !pre.Allowed || len(pre.Again)+len(pre.New) == 0 {
		return nil, nil
	}
	flow, err := b.flow()
	if err != nil {
		return nil, err
	}
	return flow.Expect(pre.Again, pre.New), nil
}

// expected is the same in a sentence.
func (b *record) expected(pre domain.Preview) (string, error) {
	e, err := b.expectedOf(pre)
	return part.Expectation(b.Context, e, 1), err
}
