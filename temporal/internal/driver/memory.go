package driver

import (
	"go.temporal.io/sdk/workflow"

	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// maxRecalling is the number of questions for memory that wait for kairosd. Temporal permits 10 updates in flight.
const maxRecalling = 3

// recall reads the memory of the session of this run, for a worker. kairosd has it, so that the question waits while kairosd is
// down. Without kairosd, there is no memory.
func (r *runner) recall(ctx workflow.Context, q wire.Recall) (a wire.Recalled, err error) {
	switch {
	case !r.in.Report:
		return a, nil
	case r.recalling >= maxRecalling:
		return wire.Recalled{Busy: true}, nil
	}
	r.recalling++
	defer func() { r.recalling-- }()
	q.Owner, q.Session = r.in.Run.Actor, r.in.Run.Session
	err = workflow.ExecuteActivity(r.control(ctx), wire.RecallActivity, q).Get(ctx, &a.Memory)
	return a, err
}
