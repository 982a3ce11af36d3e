package app

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// RunUpdate changes the limits and the labels of a run.
type RunUpdate struct {
	Meta `json:"-"`
	// ActionRequest identifies the run, and contains the fields of [domain.ActionLimits].
	domain.ActionRequest
}

// Update changes the limits of a run, and adds labels, which replace labels with the same keys. All
// changes are made or none.
//
// Errors: invalid (nothing to change, a limit below the usage of the run, a label), not_found,
// conflict (limits of a run that has ended), stale (Rev), forbidden.
func (r *Runs) Update(ctx context.Context, req RunUpdate) (domain.Run, error) {
	limits, err := checkUpdate(req.ActionRequest)
	if err != nil {
		return domain.Run{}, err
	}
	if !limits {
		return r.label(ctx, req)
	}
	return command(ctx, r.kernel, UpdateRun, req.Meta, req, r.store.FindRun,
		func(ctx context.Context, receipt *domain.Receipt) (domain.Run, error) {
			run, err := r.find(ctx, req.Run)
			if err != nil {
				return run, err
			}
			verb := req.ActionRequest
			verb.Run, verb.Action, verb.Receipt = run.ID, domain.ActionLimits, receipt
			return r.engine.Act(ctx, req.By, verb)
		})
}

// PreviewUpdate predicts what Update would do.
//
// Errors: those of Update.
func (r *Runs) PreviewUpdate(ctx context.Context, by domain.Actor, req domain.ActionRequest) (domain.Preview, error) {
	limits, err := checkUpdate(req)
	if err != nil {
		return domain.Preview{}, err
	}
	if limits {
		req.Action = domain.ActionLimits
		return r.Preview(ctx, by, req)
	}
	run, err := r.seen(ctx, PreviewRun, by, req.Run)
	if err == nil && req.Rev != 0 && req.Rev != run.LastSeq {
		err = domain.RunChanged(req.Rev, run.LastSeq)
	}
	return domain.Preview{Run: run.ID, Action: domain.ActionLabel, Allowed: true, Rev: run.LastSeq,
		PreviewTarget: domain.PreviewTarget{Hash: run.Hash, Version: run.Version}}, err
}

// checkUpdate checks an update, and reports whether it changes limits.
func checkUpdate(req domain.ActionRequest) (limits bool, err error) {
	limits = req.Limits != (domain.Limits{}) || req.Raise != (domain.Limits{})
	if !limits && len(req.Labels) == 0 {
		return false, domain.Errorf(domain.CodeInvalid, "nothing to change").Suggest("send limits, raise, or labels")
	}
	return limits, domain.CheckLabels(req.Labels)
}

// label adds labels to a run, which may have ended.
func (r *Runs) label(ctx context.Context, req RunUpdate) (domain.Run, error) {
	found := object[domain.Run]{id: func(run domain.Run) string { return run.ID }, find: r.store.FindRun}
	run, done, err := before(ctx, r.kernel, UpdateRun, req.Meta, req, found)
	if err != nil || done {
		return run, err
	}
	if run, err = r.find(ctx, req.Run); err != nil {
		return run, err
	}
	if req.Rev != 0 && req.Rev != run.LastSeq {
		return run, domain.RunChanged(req.Rev, run.LastSeq)
	}
	if _, err := perform(ctx, r.kernel, UpdateRun, req.Meta, req, found, func(tx *store.Tx) (domain.Run, error) {
		return run, tx.Attention().LabelRun(run.ID, req.Labels, req.Reason)
	}); err != nil {
		return run, err
	}
	return r.store.FindRun(ctx, run.ID)
}
