package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueue "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/temporal/internal/driver"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

const (
	// workersPause is the time between two checks of the workers, and workersTimeout limits one.
	workersPause   = 10 * time.Second
	workersTimeout = 5 * time.Second
	// seenWithin is the time after which a worker that has not asked for work counts as gone. A worker without work asks every minute,
	// and after 70 s at the latest.
	seenWithin = 90 * time.Second
	// maxPrograms is the number of programs whose queues are checked.
	maxPrograms = 1000
)

// Workers returns the workers as they were last seen.
func (c *Control) Workers() domain.Workers {
	if w := c.workers.Load(); w != nil {
		return *w
	}
	return domain.Workers{}
}

// watchWorkers checks the workers until the control plane closes, and logs each change of the problems.
func (c *Control) watchWorkers() {
	var before []string
	for {
		now := c.checkWorkers()
		if c.base.Err() != nil {
			return
		}
		c.workers.Store(&now)
		var problems []string
		for _, m := range now.Messages() {
			problems = append(problems, m.String())
		}
		if !slices.Equal(problems, before) {
			for _, p := range problems {
				c.Log.Warn("Temporal: " + p)
			}
			if len(problems) == 0 {
				c.Log.Info("Temporal: the workers have no problem any more", "workers", now.Serving())
			}
			c.engine.Announce("workers_changed", map[string]any{"problems": len(problems)})
			before = problems
		}
		select {
		case <-time.After(workersPause):
		case <-c.base.Done():
			return
		}
	}
}

// checkWorkers asks the server for the workers of all queues that runs need.
func (c *Control) checkWorkers() domain.Workers {
	ctx, cancel := context.WithTimeout(c.base, workersTimeout)
	defer cancel()
	now := domain.Workers{CheckedAt: time.Now().UTC()}
	names, err := c.queueNames(ctx)
	for v := driver.Version; v >= 1 && err == nil; v-- {
		now.Queues, err = c.queuesOf(ctx, v, names, now.Queues)
	}
	if err != nil {
		now.Queues, now.Unreachable = c.Workers().Queues, reason(err)
	}
	return now
}

// reason returns the text of an error of the server.
func reason(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("it has not answered within %s", workersTimeout)
	}
	if s := (*serviceerror.DeadlineExceeded)(nil); errors.As(err, &s) {
		return fmt.Sprintf("it has not answered within %s", workersTimeout)
	}
	return err.Error()
}

// queueNames returns the queues that the plans of active runs name.
func (c *Control) queueNames(ctx context.Context) (names []string, err error) {
	programs, err := c.store.RunningPrograms(ctx, maxPrograms)
	for _, ref := range programs {
		p, err := c.engine.Compile(ctx, ref)
		if err != nil {
			continue // its run shows the error
		}
		for i := range p.Nodes {
			if q := p.Nodes[i].Queue; q != "" && !slices.Contains(names, q) {
				names = append(names, q)
			}
		}
	}
	slices.Sort(names)
	return names, err
}

// queuesOf adds the queues of runs that follow a version of the driver. Those of older versions are added if they are needed or have a
// worker.
func (c *Control) queuesOf(ctx context.Context, version int, names []string, list []domain.WorkerQueue) ([]domain.WorkerQueue, error) {
	current := version == driver.Version
	runs := domain.WorkerQueue{TaskQueue: wire.RunsOf(c.Queue, version), Driver: version, Current: current}
	if err := c.ask(ctx, &runs, enums.TASK_QUEUE_TYPE_WORKFLOW); err != nil {
		return list, err
	}
	if !current && len(runs.Workers) == 0 {
		n, err := c.Client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: fmt.Sprintf(
			"WorkflowType = '%s' AND TaskQueue = '%s' AND ExecutionStatus = 'Running'", wire.RunWorkflow, runs.TaskQueue)})
		if err != nil {
			return list, err
		}
		if runs.Waiting = n.GetCount(); runs.Waiting == 0 {
			return list, nil
		}
	}
	list = append(list, runs)
	for _, name := range names {
		q := domain.WorkerQueue{Name: name, TaskQueue: wire.QueueOf(runs.TaskQueue, name), Driver: version, Current: current}
		if err := c.ask(ctx, &q, enums.TASK_QUEUE_TYPE_ACTIVITY); err != nil {
			return list, err
		}
		if current || q.Waiting > 0 || len(q.Workers) > 0 {
			list = append(list, q)
		}
	}
	return list, nil
}

// ask adds the workers of a task queue, and for a named one the steps that wait in it.
func (c *Control) ask(ctx context.Context, q *domain.WorkerQueue, kind enums.TaskQueueType) error {
	d, err := c.Client.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{Namespace: c.Namespace,
		TaskQueue: &taskqueue.TaskQueue{Name: q.TaskQueue, Kind: enums.TASK_QUEUE_KIND_NORMAL}, TaskQueueType: kind,
		ReportStats: q.Name != ""})
	if err != nil {
		return err
	}
	q.Workers = []domain.Worker{}
	for _, p := range d.GetPollers() {
		if at := p.GetLastAccessTime().AsTime(); time.Since(at) < seenWithin {
			q.Workers = append(q.Workers, domain.Worker{Identity: p.GetIdentity(), SeenAt: at})
		}
	}
	slices.SortFunc(q.Workers, func(a, b domain.Worker) int { return b.SeenAt.Compare(a.SeenAt) })
	if q.Name != "" {
		q.Waiting = d.GetStats().GetApproximateBacklogCount()
	}
	return nil
}
