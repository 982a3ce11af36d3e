package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/kairosd/kairosd/internal/budget/runledger"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// flow is the workflow of a run.
type flow struct {
	c       client.Client
	id, run string
	log     *slog.Logger
}

// minAskPause and maxAskPause limit the pause between two questions about a model call.
const minAskPause, maxAskPause = 100 * time.Millisecond, 10 * time.Second

// reserve asks a workflow whether a model call may start, until there is an answer. A failure of the server does not fail the
// step. Temporal permits 10 updates in flight per workflow, and the others try again.
func reserve(ctx context.Context, f flow, q wire.Reserve) (a runledger.Answer, err error) {
	ask, pending := f.update, false
	for pause := minAskPause; ; pause = min(pause*3/2, maxAskPause) {
		a, err = ask(ctx, q)
		var gone *serviceerror.NotFound
		var full *serviceerror.FailedPrecondition
		switch {
		case ctx.Err() != nil:
			return a, context.Cause(ctx)
		case err == nil && !a.Pending:
			return a, nil
		case err == nil:
			ask, pending = f.query, true
		case errors.As(err, &gone):
			return a, engine.ErrFenced
		case errors.As(err, &full) && !pending:
			// The history has no place for another update, and the run is about to continue in another one.
			return a, engine.ErrStopping
		default:
			f.log.Warn("the workflow of a run does not respond; the worker asks again", "run_id", f.id, "err", err, "in", pause)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return a, context.Cause(ctx)
		}
	}
}

// update asks with an update, whose ID makes a repeated question the same one.
func (f flow) update(ctx context.Context, q wire.Reserve) (a runledger.Answer, err error) {
	u, err := f.c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{UpdateID: q.ID, WorkflowID: f.id, RunID: f.run,
		UpdateName: wire.ReserveUpdate, Args: []any{q}, WaitForStage: client.WorkflowUpdateStageCompleted})
	if err == nil {
		err = u.Get(ctx, &a)
	}
	return a, err
}

// query reads the answer to a question that was pending. It adds nothing to the history.
func (f flow) query(ctx context.Context, q wire.Reserve) (a runledger.Answer, err error) {
	v, err := f.c.QueryWorkflow(ctx, f.id, f.run, wire.ReservedQuery, q.ID)
	if err == nil {
		err = v.Get(&a)
	}
	return a, err
}
