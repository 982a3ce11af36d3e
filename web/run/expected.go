package run

import (
	"github.com/kairosd/kairosd/internal/domain"
	part "github.com/kairosd/kairosd/web/part/run"
)

// expected reports what an act will probably cost and take, from what runs of the plan
// did before; nothing, where none tells.
func (r *request) expected(plan string, pre domain.Preview) (string, error) {
	if !pre.Allowed || len(pre.Again)+len(pre.New) == 0 {
		return "", nil
	}
	flow, err := r.Reader.PlanFlow(r.Context, plan, 0, r.Site.Now().Add(-domain.ExpectedSince))
	if err != nil {
		return "", err
	}
	return part.Expectation(r.Context, flow.Expect(pre.Again, pre.New), 1), nil
}
