package control

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/tail"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// busyAfter is the time after which a step counts as waiting for a worker although its queue has some.
const busyAfter = 30 * time.Second

// Active returns the active attempts of a run: their last output, which is in the last heartbeat of each, and what waits for a worker.
func (c *Control) Active(ctx context.Context, run string) (now tail.Active, err error) {
	d, err := c.Client.DescribeWorkflowExecution(ctx, run, "")
	if gone := (*serviceerror.NotFound)(nil); errors.As(err, &gone) {
		return now, nil
	} else if err != nil {
		return now, err
	}
	if d.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return now, nil
	}
	waits := map[string]*domain.WorkerWait{}
	wait := func(queue string, since time.Time, steps int) {
		w := waits[queue]
		if w == nil {
			w = &domain.WorkerWait{Since: since}
			waits[queue] = w
		}
		w.Steps += steps
		if since.Before(w.Since) {
			w.Since = since
		}
	}
	for _, a := range d.GetPendingActivities() {
		if a.GetActivityType().GetName() != wire.AttemptActivity {
			continue
		}
		now.Attempts++
		if a.GetState() == enums.PENDING_ACTIVITY_STATE_SCHEDULED {
			wait(a.GetActivityOptions().GetTaskQueue().GetName(), a.GetScheduledTime().AsTime(), 1)
		}
		var t tail.Tail
		if a.GetHeartbeatDetails() == nil || c.Converter.FromPayloads(a.GetHeartbeatDetails(), &t) != nil {
			continue // it has written nothing yet, or its worker has another key
		}
		t.Run = run // also for a worker that sends another one
		now.Tails = append(now.Tails, t)
	}
	runs := d.GetExecutionConfig().GetTaskQueue().GetName()
	if p := d.GetPendingWorkflowTask(); p.GetState() == enums.PENDING_WORKFLOW_TASK_STATE_SCHEDULED {
		wait(runs, p.GetScheduledTime().AsTime(), 0)
	}
	for queue, w := range waits {
		if c.waits(queue, w) {
			_, w.Queue, _ = strings.Cut(strings.TrimPrefix(queue, runs), ".")
			now.Waits = append(now.Waits, *w)
		}
	}
	slices.SortFunc(now.Waits, func(a, b domain.WorkerWait) int { return strings.Compare(a.Queue, b.Queue) })
	return now, nil
}

// waits completes a wait in a task queue. It returns false if a worker will end it soon, or if the workers are not known.
func (c *Control) waits(queue string, w *domain.WorkerWait) bool {
	known := c.Workers()
	for i := range known.Queues {
		if q := &known.Queues[i]; q.TaskQueue == queue {
			w.Workers = len(q.Workers)
			return known.Unreachable == "" && (w.Workers == 0 || time.Since(w.Since) > busyAfter)
		}
	}
	return false
}
