package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/temporal/internal/driver"
	"github.com/kairosd/kairosd/temporal/internal/launch"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// settingGeneration is the generation of the database that was last compared with all workflows.
const settingGeneration = "temporal.generation"

// Reconcile compares the unfinished runs with their workflows. After a restore, it compares all workflows with the
// record, because the record may lack runs.
func (c *Control) Reconcile(ctx context.Context) error {
	c.scanning.Lock()
	defer c.scanning.Unlock()
	known, err := c.store.Setting(ctx, settingGeneration)
	if err != nil {
		return err
	}
	restored := known != c.store.Generation()
	if restored {
		if err := c.fillAll(ctx); err != nil {
			return err
		}
	}
	unfinished, err := c.store.Unfinished(ctx)
	if err != nil {
		return err
	}
	err = c.each(ctx, len(unfinished), func(i int) error { return c.check(ctx, unfinished[i], false) })
	if err == nil && restored {
		err = c.store.SetSetting(ctx, settingGeneration, c.store.Generation())
	}
	return err
}

// each calls fn for each index, some at the same time, and returns the errors.
func (c *Control) each(ctx context.Context, n int, fn func(i int) error) error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all error
	slots := make(chan struct{}, maxParallel)
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := fn(i); err != nil {
				mu.Lock()
				defer mu.Unlock()
				all = errors.Join(all, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(all, ctx.Err())
}

// fillAll fills the record of every workflow that the server has.
func (c *Control) fillAll(ctx context.Context) error {
	runs, err := c.list(ctx, fmt.Sprintf("WorkflowType = '%s' AND TaskQueue IN ('%s')", wire.RunWorkflow,
		strings.Join(driver.AllQueues(c.Queue), "', '")))
	if err != nil {
		return err
	}
	var ids []string
	seen := map[string]bool{}
	for _, r := range runs { // oldest first, so that a run is stored before its child runs
		if id := r.GetExecution().GetWorkflowId(); !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return c.each(ctx, len(ids), func(i int) error {
		err := c.fill(ctx, ids[i])
		if errors.Is(err, errUnreadable) { // such as one with another payload key, which no retry reads
			c.Log.Error("Temporal: the record of a run cannot be filled", "run_id", ids[i], "err", err)
			return nil
		}
		return err
	})
}

// errUnreadable is wrapped by the error of a history whose values cannot be read.
var errUnreadable = errors.New("the history cannot be read")

// list returns workflow runs, oldest first.
func (c *Control) list(ctx context.Context, query string) (all []*workflow.WorkflowExecutionInfo, err error) {
	req := &workflowservice.ListWorkflowExecutionsRequest{Query: query}
	for {
		page, err := c.Client.ListWorkflow(ctx, req)
		if err != nil {
			return nil, err
		}
		all = append(all, page.GetExecutions()...)
		if req.NextPageToken = page.GetNextPageToken(); len(req.NextPageToken) == 0 {
			break
		}
	}
	slices.SortFunc(all, func(a, b *workflow.WorkflowExecutionInfo) int {
		return a.GetStartTime().AsTime().Compare(b.GetStartTime().AsTime())
	})
	return all, nil
}

// check compares an unfinished run with its workflow: it launches a run that has none and has not begun, fills gaps, and
// quarantines a run that nothing executes.
func (c *Control) check(ctx context.Context, run domain.Run, fill bool) error {
	d, err := c.Client.DescribeWorkflowExecution(ctx, run.ID, "")
	held := run.Status == domain.RunWaiting && run.WaitReason == domain.WaitHeld
	if gone := (*serviceerror.NotFound)(nil); errors.As(err, &gone) {
		switch {
		case run.StartedAt.IsZero() && run.Status == domain.RunQueued && run.Parent == nil:
			c.records.Begin(run)
			return nil
		case run.StartedAt.IsZero() && held:
			return nil // it has not begun, and starts with its release
		}
		if waitsForKey(run) {
			c.records.Begin(run)
			return nil
		}
		return c.records.Lost(ctx, run.ID, domain.Messagef(
			"lost: Temporal has no workflow of this run, and its record ends at row %d", run.LastSeq))
	} else if err != nil {
		return err
	}
	status := d.GetWorkflowExecutionInfo().GetStatus()
	open := status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	if open && !held && !fill {
		return c.await(ctx, run) // reports that were not stored wait in their queue
	}
	if err := c.fill(ctx, run.ID); err != nil {
		return err
	}
	if run, err = c.store.Run(ctx, run.ID); err != nil {
		return err
	}
	if open {
		return c.await(ctx, run)
	}
	if waitsForKey(run) {
		c.records.Begin(run)
		return nil
	}
	return c.records.Lost(ctx, run.ID, domain.Messagef("lost: the workflow of this run has ended (%s), and the run has not",
		status.String()))
}

// await lets a child run wait for its concurrency key, if its execution waits for it.
func (c *Control) await(ctx context.Context, run domain.Run) error {
	if run.Parent == nil || run.Status != domain.RunQueued || run.Concurrency == nil || run.Concurrency.Key == "" {
		return nil
	}
	h, err := c.read(ctx, run.ID, "")
	if err == nil && h.input.Waits() && !h.admitted {
		c.records.Begin(run)
	}
	return err
}

// Executes reports whether a run has a workflow that has not ended.
func (c *Control) Executes(ctx context.Context, run string) (bool, error) {
	d, err := c.Client.DescribeWorkflowExecution(ctx, run, "")
	if gone := (*serviceerror.NotFound)(nil); errors.As(err, &gone) {
		return false, nil
	} else if err != nil {
		return false, unavailable(err)
	}
	return d.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

// waitsForKey reports whether a run was resumed after its end, and waits until its concurrency key is free.
func waitsForKey(run domain.Run) bool {
	return run.Status == domain.RunQueued && run.Concurrency != nil && !run.StartedAt.IsZero()
}

// fill adds to the record of a run what the histories of its workflow runs contain.
func (c *Control) fill(ctx context.Context, id string) error {
	runs, err := c.list(ctx, fmt.Sprintf("WorkflowId = '%s' AND WorkflowType = '%s'", id, wire.RunWorkflow))
	if err != nil {
		return err
	}
	stored := int64(-1)
	if run, err := c.store.Run(ctx, id); err == nil {
		stored = run.LastSeq
	} else if domain.CodeOf(err) != domain.CodeNotFound {
		return err
	}
	var found []recorded
	for _, r := range slices.Backward(runs) { // from the newest to the one that continues the record
		h, err := c.read(ctx, id, r.GetExecution().GetRunId())
		if gone := (*serviceerror.NotFound)(nil); errors.As(err, &gone) {
			break // the retention of the server has passed
		} else if err != nil {
			return err
		}
		if !h.input.Report {
			return nil // kairosd did not start it
		}
		found = append(found, h)
		if h.input.Position() <= stored {
			break
		}
	}
	slices.Reverse(found)
	for i := range found {
		if err := c.add(ctx, &found[i]); err != nil {
			return fmt.Errorf("fill the record of run %s: %w", id, err)
		}
	}
	return nil
}

// recorded is what the history of a workflow run contains.
type recorded struct {
	input    wire.Input
	admitted bool // the run has its concurrency key
	reports  []wire.Report
}

// read reads the history of a workflow run.
func (c *Control) read(ctx context.Context, id, run string) (h recorded, err error) {
	pages := map[int64]bool{} // the activities that read rows, by their event
	all := c.Client.GetWorkflowHistory(ctx, id, run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for all.HasNext() {
		e, err := all.Next()
		if err != nil {
			return h, err
		}
		switch a := e.GetAttributes().(type) {
		case *history.HistoryEvent_WorkflowExecutionStartedEventAttributes:
			err = c.Converter.FromPayloads(a.WorkflowExecutionStartedEventAttributes.GetInput(), &h.input)
		case *history.HistoryEvent_WorkflowExecutionSignaledEventAttributes:
			if s := a.WorkflowExecutionSignaledEventAttributes; s.GetSignalName() == wire.AdmitSignal {
				var signed wire.Signed
				err = c.Converter.FromPayloads(s.GetInput(), &signed)
				h.admitted = h.admitted || err == nil && signed.Admits(h.input.Signer, id)
			}
		case *history.HistoryEvent_ActivityTaskScheduledEventAttributes:
			switch s := a.ActivityTaskScheduledEventAttributes; s.GetActivityType().GetName() {
			case wire.ReportActivity:
				var r wire.Report
				err = c.Converter.FromPayloads(s.GetInput(), &r)
				h.reports = append(h.reports, r)
			case wire.RowsActivity:
				pages[e.GetEventId()] = true
			}
		case *history.HistoryEvent_ActivityTaskCompletedEventAttributes:
			if d := a.ActivityTaskCompletedEventAttributes; pages[d.GetScheduledEventId()] {
				var rows []domain.Entry
				err = c.Converter.FromPayloads(d.GetResult(), &rows)
				h.input.Journal = append(h.input.Journal, rows...)
			}
		}
		if err != nil {
			return h, fmt.Errorf("workflow %s: %w: %w", id, errUnreadable, err)
		}
	}
	return h, nil
}

// add stores the reports in a history that the record lacks.
func (c *Control) add(ctx context.Context, h *recorded) error {
	stored, err := c.store.Run(ctx, h.input.Run.ID)
	if err != nil && domain.CodeOf(err) != domain.CodeNotFound {
		return err
	}
	missing := err != nil
	for i, r := range h.reports {
		last := i == len(h.reports)-1
		if n := len(r.Checkpoints); !missing && !last && n > 0 {
			if c := r.Checkpoints[n-1]; c.Fence+int64(len(c.Entries)) < stored.LastSeq {
				continue // it is stored
			}
		}
		rep := reportOf(r)
		rep.Filled = true
		if !last {
			rep.Now = nil
		}
		if missing {
			rep.Created, rep.Journal, rep.Versions = &h.input.Run, h.input.Journal, append(versionsOf(&h.input), rep.Versions...)
			missing = false
		}
		if err := c.records.Add(ctx, rep); err != nil {
			return err
		}
	}
	if missing { // it has not reported yet
		return c.records.Add(ctx, engine.Report{Run: h.input.Run.ID, Created: &h.input.Run, Journal: h.input.Journal,
			Versions: versionsOf(&h.input), Filled: true})
	}
	return nil
}

// versionsOf returns the versions that the run of an input has followed, in order.
func versionsOf(in *wire.Input) (list []domain.Version) {
	for _, hash := range append(launch.Followed(in.Journal), in.Run.Hash) {
		list = append(list, in.Versions[hash])
	}
	return list
}
