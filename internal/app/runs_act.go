package app

import (
	"context"
	"errors"

	"github.com/kairosd/kairosd/internal/domain"
)

// StartRequest requests a new run.
type StartRequest struct {
	Meta `json:"-"`
	domain.StartRequest
}

// Start creates a run, which is durable when Start returns. A request with the Key of an existing
// run returns that run.
//
// Errors: invalid (labels, or an input that does not match the plan's schema), not_found (the plan
// or its version), conflict (the plan is paused or archived, or its concurrency rule refuses
// another run), forbidden, unavailable.
func (r *Runs) Start(ctx context.Context, req StartRequest) (domain.Run, error) {
	if err := domain.CheckLabels(req.Labels); err != nil {
		return domain.Run{}, err
	}
	return command(
		ctx,
		r.kernel,
		StartRun,
		req.Meta,
		req,
		r.store.FindRun,
		func(ctx context.Context, receipt *domain.Receipt) (domain.Run, error) {
			req.Receipt = receipt
			return r.engine.Start(ctx, req.By, req.StartRequest)
		},
	)
}

// ActRequest requests an action on a run.
type ActRequest struct {
	Meta `json:"-"`
	domain.ActionRequest
}

var actions = map[domain.Action]Operation{
	domain.ActionResume: ResumeRun, domain.ActionRerun: RerunRun, domain.ActionFork: ForkRun, domain.ActionUndo: UndoRun,
	domain.ActionCancel: CancelRun, domain.ActionPause: PauseRun,
	domain.ActionUnpause: UnpauseRun, domain.ActionRetryNow: RetryNow, domain.ActionStartNow: StartNow, domain.ActionRelease: ReleaseRun,
	domain.ActionLimits: UpdateRun, domain.ActionDelete: DeleteRun,
}

// Act performs an action on a run. It returns the run afterwards, or the new run of a rerun, a fork, or
// an undo. The result is durable. Pausing a paused run, unpausing one that is not paused,
// cancelling a cancelled one, or deleting a deleted one returns it unchanged.
//
// Errors: invalid (the request), not_found, conflict (the state of the run does not allow the
// action, or the ID matches several runs), stale (Rev or Digest is of an earlier state),
// not_resumable, forbidden, unavailable.
func (r *Runs) Act(ctx context.Context, req ActRequest) (domain.Run, error) {
	op, ok := actions[req.Action]
	if !ok {
		return domain.Run{}, domain.Errorf(domain.CodeInvalid, "unknown action %q", req.Action)
	}
	if err := domain.CheckLabels(req.Labels); err != nil {
		return domain.Run{}, err
	}
	find := r.store.FindRun
	return command(ctx, r.kernel, op, req.Meta, req, find, func(ctx context.Context, receipt *domain.Receipt) (domain.Run, error) {
		run, err := r.find(ctx, req.Run)
		if err != nil {
			return run, err
		}
		req.Run, req.Receipt = run.ID, receipt
		done, err := r.engine.Act(ctx, req.By, req.ActionRequest)
		if domain.CodeOf(err) != domain.CodeConflict {
			return done, err
		}
		if now, unread := r.store.FindRun(ctx, run.ID); unread == nil && repeated(req.Action, now, err) {
			return now, nil
		}
		return done, err
	})
}

// repeated reports whether a run already has the state that the refused action leads to.
func repeated(a domain.Action, run domain.Run, refusal error) bool {
	switch a {
	case domain.ActionPause, domain.ActionUnpause:
		return !run.Status.Final() && run.Paused == (a == domain.ActionPause)
	case domain.ActionDelete:
		return !run.DeletedAt.IsZero()
	case domain.ActionCancel:
		e, ok := errors.AsType[*domain.Error](refusal)
		return run.Status == domain.RunCancelled || ok && e.Reason == domain.ReasonCancelling
	}
	return false
}

// ResolveRequest sets the outcome of an attempt in doubt.
type ResolveRequest struct {
	Meta `json:"-"`
	domain.ResolveRequest
}

// Resolve settles an attempt in doubt, and the run continues.
//
// Errors: invalid (the request), not_found (the run or the step), conflict (nothing is in doubt
// there), stale (Rev, or another attempt), forbidden, unavailable.
func (r *Runs) Resolve(ctx context.Context, req ResolveRequest) (domain.Run, error) {
	return command(
		ctx,
		r.kernel,
		ResolveNode,
		req.Meta,
		[]any{req.Run, req.Node, req.ResolveRequest},
		r.store.FindRun,
		func(ctx context.Context, receipt *domain.Receipt) (domain.Run, error) {
			run, err := r.find(ctx, req.Run)
			if err != nil {
				return run, err
			}
			req.Run, req.Receipt = run.ID, receipt
			return r.engine.Resolve(ctx, req.By, req.ResolveRequest)
		},
	)
}
