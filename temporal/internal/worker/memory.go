package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// memory is the memory of sessions. The workflow of the active step asks kairosd for it.
type memory struct {
	c   client.Client
	log *slog.Logger
}

// minPause and maxPause limit the pause between two questions.
const minPause, maxPause = 100 * time.Millisecond, 10 * time.Second

// Recollect implements [handler.Memory]. The workflow adds the owner and the session.
func (m memory) Recollect(ctx context.Context, _, _, text string, limit int) (list []domain.Memory, err error) {
	if !activity.IsActivity(ctx) {
		return nil, nil
	}
	flow, id := activity.GetInfo(ctx).WorkflowExecution, domain.NewID()
	for pause := minPause; ; pause = min(pause*3/2, maxPause) {
		u, err := m.c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{UpdateID: id, WorkflowID: flow.ID, RunID: flow.RunID,
			UpdateName: wire.RecallUpdate, Args: []any{wire.Recall{Text: text, Limit: limit}},
			WaitForStage: client.WorkflowUpdateStageCompleted})
		if err == nil {
			err = u.Get(ctx, &list)
		}
		var gone *serviceerror.NotFound
		switch {
		case err == nil:
			return list, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.As(err, &gone):
			return nil, engine.ErrFenced
		}
		m.log.Warn("the memory of a session cannot be read; the worker asks again", "run_id", flow.ID, "err", err, "in", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
