package control

import (
	"context"
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// Act lets the workflow of a run carry out an action.
func (c *Control) Act(ctx context.Context, run domain.Run, ev *runstate.OperatorAction) (int64, error) {
	return c.request(ctx, run, wire.ActUpdate, wire.Action{Actor: ev.Actor, Request: ev.Request, Reset: ev.Reset, Options: ev.Options})
}

// Resolve lets the workflow of a run settle an attempt in doubt.
func (c *Control) Resolve(ctx context.Context, run domain.Run, ev *runstate.StepResolved) (int64, error) {
	return c.request(ctx, run, wire.ResolveUpdate, wire.Resolution{Actor: ev.Actor, Node: ev.Request.Node, Request: ev.Request,
		Receipt: ev.Request.Receipt})
}

// Decide lets the workflow of a run take an answer to an approval request.
func (c *Control) Decide(ctx context.Context, run domain.Run, ev *runstate.ApprovalDecided) (int64, error) {
	return c.request(ctx, run, wire.DecideUpdate, wire.Decision{Actor: ev.Actor, Approval: ev.Approval.ID, Request: ev.Request,
		Receipt: ev.Request.Receipt})
}

// Signal lets the workflow of a run end a wait. It starts no workflow, because a run without one waits for a person.
func (c *Control) Signal(ctx context.Context, run string, ev *runstate.SignalArrived) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	o, err := c.update(run, wire.EventUpdate, wire.Event{Wait: ev.Wait, Signal: ev.Signal})
	if err != nil {
		return err
	}
	u, err := c.Client.UpdateWorkflow(ctx, o)
	_, err = position(ctx, u, err)
	return err
}

// BudgetFreed lets the workflow of a run end its wait for a shared budget. It starts no workflow, because a run without one waits
// for a person.
func (c *Control) BudgetFreed(ctx context.Context, run string, ev *runstate.BudgetFreed) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	o, err := c.update(run, wire.FreedUpdate, wire.Freed{Budget: ev.Budget})
	if err != nil {
		return err
	}
	u, err := c.Client.UpdateWorkflow(ctx, o)
	_, err = position(ctx, u, err)
	return err
}

// admit lets the workflow of a child run begin. A signal is in the history as soon as the server has it, also without a worker, so that
// kairosd finds it after a restart.
func (c *Control) admit(ctx context.Context, run string) error {
	signed, err := wire.Sign(c.signingKey(), run, wire.AdmitSignal, struct{}{}, time.Now())
	if err != nil {
		return err
	}
	return c.Client.SignalWorkflow(ctx, run, "", wire.AdmitSignal, signed)
}

// update returns a signed update.
func (c *Control) update(run, name string, arg any) (client.UpdateWorkflowOptions, error) {
	signed, err := wire.Sign(c.signingKey(), run, name, arg, time.Now())
	return client.UpdateWorkflowOptions{UpdateID: domain.NewID(), WorkflowID: run, UpdateName: name, Args: []any{signed},
		WaitForStage: client.WorkflowUpdateStageCompleted}, err
}

// request sends a request to the workflow of a run. If the run has none, it starts one for the request, which continues
// from the record.
func (c *Control) request(ctx context.Context, run domain.Run, name string, arg any) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	o, err := c.update(run.ID, name, arg)
	if err != nil {
		return 0, err
	}
	if !run.Status.Final() {
		u, err := c.Client.UpdateWorkflow(ctx, o)
		if gone := (*serviceerror.NotFound)(nil); !errors.As(err, &gone) {
			return position(ctx, u, err)
		}
		if err := c.check(ctx, run, false); err != nil {
			return 0, unavailable(err)
		}
		now, err := c.store.Run(ctx, run.ID)
		if err != nil {
			return 0, err
		}
		if now.LastSeq != run.LastSeq {
			return 0, domain.RunChanged(run.LastSeq, now.LastSeq)
		}
	}
	in, err := c.input(ctx, run)
	if err != nil {
		return 0, err
	}
	in.Reopen, in.Resumed = true, true
	start := c.start(run)
	start.WorkflowIDConflictPolicy = enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
	u, err := c.Client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{UpdateOptions: o,
		StartWorkflowOperation: c.Client.NewWithStartWorkflowOperation(start, wire.RunWorkflow, in)})
	seq, err := position(ctx, u, err)
	if err == nil {
		c.holdAgain(run.ID, in.Hold)
	}
	return seq, err
}

// position returns the position of a run after a request.
func position(ctx context.Context, u client.WorkflowUpdateHandle, err error) (int64, error) {
	var run domain.Run
	if err == nil {
		err = u.Get(ctx, &run)
	}
	if refused, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return 0, domain.Errorf(domain.Code(refused.Type()), "%s", refused.Message())
	}
	if err != nil {
		return 0, unavailable(err)
	}
	return run.LastSeq, nil
}

// unavailable returns the error of a request that Temporal or its workers did not handle.
func unavailable(err error) error {
	if _, ok := errors.AsType[*domain.Error](err); ok {
		return err
	}
	return domain.Errorf(domain.CodeUnavailable, "the workflow of the run does not respond: %w", err).
		Suggest("check the Temporal server and its workers, and reload the run before you try again")
}
