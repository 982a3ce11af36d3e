package app

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// RunRequest identifies a run to change.
type RunRequest struct {
	Meta `json:"-"`
	Run  string // id, or an unambiguous part of it
}

// Unacknowledge withdraws the acknowledgment of a failed run: it needs attention again.
// A failed run that needs attention is returned unchanged.
//
// Errors: not_found, conflict (the run has not failed), forbidden.
func (r *Runs) Unacknowledge(ctx context.Context, req RunRequest) (domain.Run, error) {
	found := object[domain.Run]{id: func(run domain.Run) string { return run.ID }, find: r.store.FindRun}
	known, done, err := before(ctx, r.kernel, UnacknowledgeRun, req.Meta, req, found)
	if err != nil || done {
		return known, err
	}
	run, err := r.find(ctx, req.Run)
	if err != nil {
		return run, err
	}
	if _, err = perform(ctx, r.kernel, UnacknowledgeRun, req.Meta, req, found, func(tx *store.Tx) (domain.Run, error) {
		changed, err := tx.Attention().UnackRun(run.ID)
		if changed {
			tx.Audit("run:"+run.ID, "", nil)
		}
		return run, err
	}); err != nil {
		return run, err
	}
	return r.store.FindRun(ctx, run.ID)
}
