package driver

import (
	"go.temporal.io/sdk/workflow"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// recall reads the memory of the session of this run, for a worker. kairosd has it, so that the question waits while kairosd is
// down. Without kairosd, there is no memory.
func (r *runner) recall(ctx workflow.Context, q wire.Recall) (list []domain.Memory, err error) {
	if !r.in.Report {
		return nil, nil
	}
	q.Owner, q.Session = r.in.Run.Actor, r.in.Run.Session
	err = workflow.ExecuteActivity(r.control(ctx), wire.RecallActivity, q).Get(ctx, &list)
	return list, err
}
