package app

import (
	"cmp"
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Plans contains the operations on stored plans.
type Plans struct{ *kernel }

type planStore interface {
	Plan(ctx context.Context, idOrKey string) (domain.Plan, error)
	Plans(ctx context.Context, f domain.PlanFilter) (domain.List[domain.Plan], error)
	Versions(ctx context.Context, planID string) ([]domain.Version, error)
	VersionByNumber(ctx context.Context, planID string, number int) (domain.Version, error)
	VersionByHash(ctx context.Context, hash string) (domain.Version, error)
	PlanFlow(ctx context.Context, plan string, version int, since time.Time) (domain.PlanFlow, error)
}

// List returns a page of the plans that a filter matches, latest change first.
//
// Errors: invalid (the position of a page), forbidden.
func (p *Plans) List(ctx context.Context, by domain.Actor, f domain.PlanFilter) (domain.List[domain.Plan], error) {
	if err := p.allow(ctx, ListPlans, by, ""); err != nil {
		return domain.List[domain.Plan]{}, err
	}
	return p.store.Plans(ctx, f)
}

// Get finds a plan by id or key, including archived plans.
//
// Errors: not_found, forbidden.
func (p *Plans) Get(ctx context.Context, by domain.Actor, idOrKey string) (domain.Plan, error) {
	if err := p.allow(ctx, GetPlan, by, ""); err != nil {
		return domain.Plan{}, err
	}
	return p.store.Plan(ctx, idOrKey)
}

// Versions returns the versions of a plan, newest first, without their documents.
//
// Errors: not_found, forbidden.
func (p *Plans) Versions(ctx context.Context, by domain.Actor, idOrKey string) ([]domain.Version, error) {
	if err := p.allow(ctx, ListVersions, by, ""); err != nil {
		return nil, err
	}
	plan, err := p.store.Plan(ctx, idOrKey)
	if err != nil {
		return nil, err
	}
	return p.store.Versions(ctx, plan.ID)
}

// Version returns one version of a plan with its document. Number 0 means the current version.
//
// Errors: not_found, forbidden.
func (p *Plans) Version(ctx context.Context, by domain.Actor, idOrKey string, number int) (domain.Version, error) {
	if err := p.allow(ctx, GetPlanVersion, by, ""); err != nil {
		return domain.Version{}, err
	}
	plan, err := p.store.Plan(ctx, idOrKey)
	if err != nil {
		return domain.Version{}, err
	}
	return p.store.VersionByNumber(ctx, plan.ID, cmp.Or(number, plan.Latest))
}

// Profiles lists the profiles that a version of a plan declares. Number 0 means the current version.
//
// Errors: not_found, forbidden.
func (p *Plans) Profiles(ctx context.Context, by domain.Actor, idOrKey string, number int) ([]string, error) {
	v, err := p.Version(ctx, by, idOrKey, number)
	if err != nil {
		return nil, err
	}
	program, err := p.engine.Program(ctx, domain.AsWritten(v.Hash))
	if err != nil {
		return nil, err
	}
	return program.Start.Profiles, nil
}

// Flow describes the paths of a plan's newest runs since a time. Version 0 means all versions. It
// reads a bounded number of runs.
//
// Errors: not_found, forbidden.
func (p *Plans) Flow(ctx context.Context, by domain.Actor, idOrKey string, version int, since time.Time) (domain.PlanFlow, error) {
	if err := p.allow(ctx, GetPlanFlow, by, ""); err != nil {
		return domain.PlanFlow{}, err
	}
	plan, err := p.store.Plan(ctx, idOrKey)
	if err != nil {
		return domain.PlanFlow{}, err
	}
	return p.store.PlanFlow(ctx, plan.Key, version, since)
}

func (p *Plans) object() object[domain.Plan] {
	return object[domain.Plan]{id: func(plan domain.Plan) string { return plan.ID }, find: p.store.Plan}
}

// PlanChange identifies a plan and the reason of its change.
type PlanChange struct {
	Meta   `json:"-"`
	Plan   string // id or key
	Reason string // shown with the plan and in the audit log
}

// Pause prevents new runs of a plan from starting. Active runs finish; existing runs can still be
// resumed, rerun, and forked. A paused plan is returned unchanged.
//
// Errors: not_found, forbidden.
func (p *Plans) Pause(ctx context.Context, req PlanChange) (domain.Plan, error) {
	stop := &domain.Disablement{Since: p.now(), By: req.By.Name, Reason: req.Reason}
	return p.change(
		ctx,
		PausePlan,
		req,
		func(plan domain.Plan) bool { return plan.Paused != nil },
		func(tx *store.Tx, plan *domain.Plan) error {
			plan.Paused = stop
			tx.Audit("plan:"+plan.Key, req.Reason, changed("paused", false, true))
			return tx.PausePlan(plan.ID, stop)
		},
	)
}

// Unpause ends the pause of a plan. A plan that is not paused is returned unchanged.
//
// Errors: not_found, forbidden.
func (p *Plans) Unpause(ctx context.Context, req PlanChange) (domain.Plan, error) {
	return p.change(
		ctx,
		UnpausePlan,
		req,
		func(plan domain.Plan) bool { return plan.Paused == nil },
		func(tx *store.Tx, plan *domain.Plan) error {
			plan.Paused = nil
			tx.Audit("plan:"+plan.Key, req.Reason, changed("paused", true, false))
			return tx.PausePlan(plan.ID, nil)
		},
	)
}

// Archive hides a plan from lists. Its runs stay, and it can be unarchived. An archived
// plan is returned unchanged.
//
// Errors: not_found, forbidden.
func (p *Plans) Archive(ctx context.Context, req PlanChange) (domain.Plan, error) {
	at := p.now()
	return p.change(
		ctx,
		ArchivePlan,
		req,
		func(plan domain.Plan) bool { return plan.Archived },
		func(tx *store.Tx, plan *domain.Plan) error {
			plan.Archived = true
			tx.Audit("plan:"+plan.Key, req.Reason, changed("archived", false, true))
			return tx.ArchivePlan(plan.ID, at)
		},
	)
}

// Unarchive restores an archived plan to lists. A plan that is not archived is returned unchanged.
//
// Errors: not_found, forbidden.
func (p *Plans) Unarchive(ctx context.Context, req PlanChange) (domain.Plan, error) {
	return p.change(
		ctx,
		UnarchivePlan,
		req,
		func(plan domain.Plan) bool { return !plan.Archived },
		func(tx *store.Tx, plan *domain.Plan) error {
			plan.Archived = false
			tx.Audit("plan:"+plan.Key, req.Reason, changed("archived", true, false))
			return tx.ArchivePlan(plan.ID, time.Time{})
		},
	)
}

// change performs an operation on one plan, unless the plan already has the requested state.
func (p *Plans) change(
	ctx context.Context,
	op Operation,
	req PlanChange,
	already func(domain.Plan) bool,
	f func(*store.Tx, *domain.Plan) error,
) (domain.Plan, error) {
	return perform(ctx, p.kernel, op, req.Meta, req, p.object(), func(tx *store.Tx) (domain.Plan, error) {
		plan, err := tx.Plan(req.Plan)
		if err != nil || already(plan) {
			return plan, err
		}
		err = f(tx, &plan)
		return plan, err
	})
}

// changed returns the audit detail of a boolean change.
func changed(what string, from, to bool) domain.RawJSON {
	return domain.ChangeDetail(map[string]bool{what: from}, map[string]bool{what: to})
}
