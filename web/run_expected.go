package web

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// expected says what an act will probably cost and take, from what runs of the plan
// did before; nothing, where none tells.
func (r *request) expected(plan string, pre domain.Preview) (string, error) {
	if !pre.Allowed || len(pre.Again)+len(pre.New) == 0 {
		return "", nil
	}
	flow, err := r.s.Reader.PlanFlow(r.ctx, plan, 0, r.s.now().Add(-domain.ExpectedSince))
	if err != nil {
		return "", err
	}
	return r.expectation(flow.Expect(pre.Again, pre.New), 1), nil
}

// expectation is the sentence for so many runs alike.
func (r *request) expectation(e *domain.Expected, runs int) string {
	if e == nil {
		return ""
	}
	work := took(max(e.Took(), time.Millisecond) * time.Duration(max(runs, 1)))
	if e.Cost > 0 {
		return r.n(e.Runs, "From %s run before: expected cost %s and %s of work.", "From %s runs before: expected cost %s and %s of work.", r.cost(e.Cost*float64(max(runs, 1))), work)
	}
	return r.n(e.Runs, "From %s run before: expected %s of work.", "From %s runs before: expected %s of work.", work)
}
