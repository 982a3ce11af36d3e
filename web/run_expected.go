package web

import (
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
