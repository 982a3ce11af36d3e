package control

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"

	"github.com/kairosd/kairosd/internal/tail"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// Tails returns the last output of the active attempts of a run, and their number. It is in the last heartbeat of each attempt.
func (c *Control) Tails(ctx context.Context, run string) (list []tail.Tail, active int, err error) {
	d, err := c.Client.DescribeWorkflowExecution(ctx, run, "")
	if gone := (*serviceerror.NotFound)(nil); errors.As(err, &gone) {
		return nil, 0, nil
	} else if err != nil {
		return nil, 0, err
	}
	for _, a := range d.GetPendingActivities() {
		if a.GetActivityType().GetName() != wire.AttemptActivity {
			continue
		}
		active++
		var t tail.Tail
		if a.GetHeartbeatDetails() == nil || c.Converter.FromPayloads(a.GetHeartbeatDetails(), &t) != nil {
			continue // it has written nothing yet, or its worker has another key
		}
		t.Run = run // also for a worker that sends another one
		list = append(list, t)
	}
	return list, active, nil
}
