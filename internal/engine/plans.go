package engine

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// SavePlan parses, validates and stores a document. Problems are returned also
// when it is stored (warnings); with errors the error is CodeInvalid.
func (e *Engine) SavePlan(
	ctx context.Context,
	actor domain.Actor,
	src []byte,
	f planner.Format,
	origin, reason string,
) (domain.Plan, domain.Version, bool, planner.Problems, error) {
	return e.SavePlanOver(ctx, actor, src, f, origin, reason, "")
}

// SavePlanOver is SavePlan for a document that was made from a version: when the
// plan has another newest version by now, nothing is stored (CodeStale). An empty
// base is any.
func (e *Engine) SavePlanOver(
	ctx context.Context,
	actor domain.Actor,
	src []byte,
	f planner.Format,
	origin, reason, base string,
) (domain.Plan, domain.Version, bool, planner.Problems, error) {
	if err := e.allow(ctx, actor, domain.RoleAuthor, "plan.save", "", ""); err != nil {
		return domain.Plan{}, domain.Version{}, false, nil, err
	}
	v, problems, err := e.ReadPlan(src, f, origin)
	if err != nil {
		return domain.Plan{}, domain.Version{}, false, problems, err
	}
	v.Reason, v.Base = reason, base
	p, stored, created, err := e.store.PutVersion(ctx, v.By(actor.Name), actor)
	if err == nil && created {
		e.KeepPlan(v, stored)
	}
	return p, stored, created, problems, err
}

// whilePaused refuses to start a run of a plan that someone has paused.
func whilePaused(p domain.Plan) error {
	if p.Paused == nil {
		return nil
	}
	since, by := p.Paused.Since.Format(time.DateTime), p.Paused.By
	err := domain.Errorf(domain.CodeConflict, "plan %s is paused since %s by %s", p.Key, since, by)
	if reason := p.Paused.Reason; reason != "" {
		err = domain.Errorf(domain.CodeConflict, "plan %s is paused since %s by %s: %s", p.Key, since, by, reason)
	}
	err.Suggest("unpause it, or start it later")
	err.Reason = "plan_paused"
	return err
}

// originTry marks versions that are there for one run by hand.
const originTry = "try"

// TryPlan starts a dry run of a document that is not saved: it is kept under a key
// of its own, and no plan has another version for it. receipt, if not nil, is stored with
// the run. Problems are returned also when it runs; with errors the error is CodeInvalid.
func (e *Engine) TryPlan(
	ctx context.Context,
	actor domain.Actor,
	src []byte,
	f planner.Format,
	input domain.RawJSON,
	offline bool,
	receipt *domain.Receipt,
) (domain.Run, planner.Problems, error) {
	doc, problems := e.CheckPlan(src, f)
	if err := problems.Err(); err != nil {
		return domain.Run{}, problems, domain.Errorf(domain.CodeInvalid, "the plan is not valid: %w", err)
	}
	tried, err := withKey(doc, draftKey(doc.ID))
	if err != nil {
		return domain.Run{}, problems, domain.Errorf(domain.CodeInvalid, "the plan: %w", err)
	}
	p, v, _, _, err := e.SavePlan(ctx, actor, tried, planner.FormatJSON, originTry, "tried without saving")
	if err != nil {
		return domain.Run{}, problems, err
	}
	run, err := e.Start(
		ctx,
		actor,
		domain.StartRequest{Plan: p.ID, Hash: v.Hash, Input: input, Labels: dryLabel, Dry: true, Offline: offline, Receipt: receipt},
	)
	return run, problems, err
}

// AcceptVersion takes a version that a planner made into use: from now on it is the
// plan's current one. Of a version that is, nothing changes. CodeConflict if a person
// made it, CodeForbidden where it would take the place of one that a person wrote and
// the actor writes no plans.
func (e *Engine) AcceptVersion(ctx context.Context, actor domain.Actor, plan, hash, reason string) (domain.Plan, error) {
	if err := e.allow(ctx, actor, domain.RoleOperator, "plan.accept", "", "plan:"+plan); err != nil {
		return domain.Plan{}, err
	}
	p, r, err := e.Acceptance(ctx, actor, plan, hash, reason)
	switch {
	case domain.CodeOf(err) == domain.CodeForbidden:
		return p, e.allow(ctx, actor, domain.RoleAuthor, "plan.accept", "", "plan:"+p.Key)
	case err != nil:
		return p, err
	case r == nil:
		return e.store.AcceptPlan(ctx, p.ID, actor, reason)
	}
	return e.store.RestoreVersion(ctx, *r, actor)
}
