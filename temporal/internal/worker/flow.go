package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/kairosd/kairosd/internal/budget/runledger"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// flow is the workflow of a run.
type flow struct {
	c       client.Client
	id, run string
	log     *slog.Logger
}

// minPause and maxPause limit the pause between two requests.
const minPause, maxPause = 100 * time.Millisecond, 10 * time.Second

// update sends an update until the workflow has handled it. Its ID makes a repeated request the same one. A failure of the server
// does not fail the step. Temporal permits 10 updates in flight per workflow, and the others try again.
//
// Errors: [engine.ErrFenced] (the workflow has ended), [engine.ErrStopping] (the history has no place for another update, and the
// run is about to continue in another one), an application error of the workflow, or the cause of the end of the context.
func (f flow) update(ctx context.Context, name, id string, request, answer any) error {
	return f.retry(ctx, func() error {
		u, err := f.c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{UpdateID: id, WorkflowID: f.id, RunID: f.run, UpdateName: name,
			Args: []any{request}, WaitForStage: client.WorkflowUpdateStageCompleted})
		if err != nil {
			return err
		}
		return u.Get(ctx, answer)
	})
}

// retry sends a request until it succeeds, or cannot succeed any more.
func (f flow) retry(ctx context.Context, request func() error) error {
	for pause := minPause; ; pause = min(pause*3/2, maxPause) {
		err := request()
		var gone *serviceerror.NotFound
		var full *serviceerror.FailedPrecondition
		var refused *temporal.ApplicationError
		switch {
		case err == nil || errors.As(err, &refused):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &gone):
			return engine.ErrFenced
		case errors.As(err, &full):
			return engine.ErrStopping
		}
		f.log.Warn("the workflow of a run does not respond; the worker tries again", "run_id", f.id, "err", err, "in", pause)
		if err := wait(ctx, pause); err != nil {
			return err
		}
	}
}

func wait(ctx context.Context, pause time.Duration) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// send delivers the row of a sub-step. The row of a call that is about to start waits until the workflow has accepted it.
func (f flow) send(ctx context.Context, row wire.Substep) error {
	if row.Row.Row.Kind != domain.EntryIntent {
		return f.retry(ctx, func() error { return f.c.SignalWorkflow(ctx, f.id, f.run, wire.SubstepSignal, row) })
	}
	return f.update(ctx, wire.IntentUpdate, domain.NewID(), row, nil)
}

// reserve asks whether a model call may start, until there is an answer.
func (f flow) reserve(ctx context.Context, q wire.Reserve) (a runledger.Answer, err error) {
	if err = f.update(ctx, wire.ReserveUpdate, q.ID, q, &a); err != nil {
		return a, err
	}
	for pause := minPause; a.Pending; pause = min(pause*3/2, maxPause) {
		if err = wait(ctx, pause); err != nil {
			return a, err
		}
		err = f.retry(ctx, func() error { // a query adds nothing to the history
			v, err := f.c.QueryWorkflow(ctx, f.id, f.run, wire.ReservedQuery, q.ID)
			if err != nil {
				return err
			}
			a = runledger.Answer{}
			return v.Get(&a)
		})
		if err != nil {
			return a, err
		}
	}
	return a, nil
}

// memory is the memory of sessions. The workflow of the active step asks kairosd for it.
type memory struct {
	c   client.Client
	log *slog.Logger
}

// Recollect implements [handler.Memory]. The workflow adds the owner and the session.
func (m memory) Recollect(ctx context.Context, _, _, text string, limit int) ([]domain.Memory, error) {
	if !activity.IsActivity(ctx) {
		return nil, nil
	}
	run := activity.GetInfo(ctx).WorkflowExecution
	f := flow{m.c, run.ID, run.RunID, m.log}
	for pause := minPause; ; pause = min(pause*3/2, maxPause) {
		var a wire.Recalled
		err := f.update(ctx, wire.RecallUpdate, domain.NewID(), wire.Recall{Text: text, Limit: limit}, &a)
		if err != nil || !a.Busy {
			return a.Memory, err
		}
		if err := wait(ctx, pause); err != nil {
			return nil, err
		}
	}
}
