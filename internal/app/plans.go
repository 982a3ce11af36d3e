package app

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Plans are the operations on stored plans.
type Plans struct{ *kernel }

type planStore interface {
	Plan(ctx context.Context, idOrKey string) (domain.Plan, error)
	VersionByNumber(ctx context.Context, planID string, number int) (domain.Version, error)
}

func (p *Plans) object() object[domain.Plan] {
	return object[domain.Plan]{id: func(plan domain.Plan) string { return plan.ID }, find: p.store.Plan}
}

// PlanChange names a plan and says why it is changed.
type PlanChange struct {
	Meta   `json:"-"`
	Plan   string // id or key
	Reason string // shown with the plan and in the audit log
}

// Pause stops new runs of a plan from starting. Active runs finish; existing runs can
// still be resumed, rerun, and forked. A paused plan is returned unchanged.
//
// Errors: not_found, forbidden.
func (p *Plans) Pause(ctx context.Context, req PlanChange) (domain.Plan, error) {
	stop := &domain.Stop{Since: p.now(), By: req.By.Name, Reason: req.Reason}
	return p.change(ctx, PausePlan, req, func(plan domain.Plan) bool { return plan.Paused != nil }, func(tx *store.Tx, plan *domain.Plan) error {
		plan.Paused = stop
		tx.Audit("plan:"+plan.Key, req.Reason, changed("paused", false, true))
		return tx.PausePlan(plan.ID, stop)
	})
}

// Unpause lets runs of a paused plan start again. A plan that is not paused is returned
// unchanged.
//
// Errors: not_found, forbidden.
func (p *Plans) Unpause(ctx context.Context, req PlanChange) (domain.Plan, error) {
	return p.change(ctx, UnpausePlan, req, func(plan domain.Plan) bool { return plan.Paused == nil }, func(tx *store.Tx, plan *domain.Plan) error {
		plan.Paused = nil
		tx.Audit("plan:"+plan.Key, req.Reason, changed("paused", true, false))
		return tx.PausePlan(plan.ID, nil)
	})
}

// Archive hides a plan from lists. Its runs stay, and it can be unarchived. An archived
// plan is returned unchanged.
//
// Errors: not_found, forbidden.
func (p *Plans) Archive(ctx context.Context, req PlanChange) (domain.Plan, error) {
	at := p.now()
	return p.change(ctx, ArchivePlan, req, func(plan domain.Plan) bool { return plan.Archived }, func(tx *store.Tx, plan *domain.Plan) error {
		plan.Archived = true
		tx.Audit("plan:"+plan.Key, req.Reason, changed("archived", false, true))
		return tx.ArchivePlan(plan.ID, at)
	})
}

// Unarchive shows an archived plan in lists again. A plan that is not archived is
// returned unchanged.
//
// Errors: not_found, forbidden.
func (p *Plans) Unarchive(ctx context.Context, req PlanChange) (domain.Plan, error) {
	return p.change(ctx, UnarchivePlan, req, func(plan domain.Plan) bool { return !plan.Archived }, func(tx *store.Tx, plan *domain.Plan) error {
		plan.Archived = false
		tx.Audit("plan:"+plan.Key, req.Reason, changed("archived", true, false))
		return tx.ArchivePlan(plan.ID, time.Time{})
	})
}

// ArchiveAs archives a plan for another part of kairosd that acts for a principal.
func (p *Plans) ArchiveAs(ctx context.Context, by domain.Actor, plan, reason string) error {
	_, err := p.Archive(ctx, PlanChange{Meta: Meta{By: by}, Plan: plan, Reason: reason})
	return err
}

// change performs an operation on one plan, unless the plan is so already.
func (p *Plans) change(ctx context.Context, op Operation, req PlanChange, already func(domain.Plan) bool, f func(*store.Tx, *domain.Plan) error) (domain.Plan, error) {
	return perform(ctx, p.kernel, op, req.Meta, req, p.object(), func(tx *store.Tx) (domain.Plan, error) {
		plan, err := tx.Plan(req.Plan)
		if err != nil || already(plan) {
			return plan, err
		}
		err = f(tx, &plan)
		return plan, err
	})
}

// changed is the detail of an audit record about something that is or is not so.
func changed(what string, from, to bool) domain.RawJSON {
	return domain.ChangeDetail(map[string]bool{what: from}, map[string]bool{what: to})
}
