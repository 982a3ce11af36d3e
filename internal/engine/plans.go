package engine

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/planfile"
)

// SavePlan parses, validates, and stores a document. It also returns the warnings of a stored
// document. If there are errors, the document is not stored, and the error has CodeInvalid.
func (e *Engine) SavePlan(
	ctx context.Context,
	actor domain.Actor,
	src []byte,
	f planner.Format,
	origin, reason string,
) (domain.Plan, domain.Version, bool, planner.Problems, error) {
	return e.SavePlanOver(ctx, actor, src, f, origin, reason, "")
}

// SavePlanOver is SavePlan for a document that was derived from version base. If the plan has a
// newer version, nothing is stored, and the error has CodeStale. An empty base means no check.
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

// checkNotPaused returns an error if the plan is paused.
func checkNotPaused(p domain.Plan) error {
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

// originTry is the origin of versions that exist for one dry run.
const originTry = "try"

// TryPlan starts a dry run of an unsaved plan file and the files that it names. Each file comes after those that
// it names, and names them by their keys for trials; see [TrialKey]. It stores the documents under these keys, so
// that no plan gets a version. Of the request, only the input, the profile, Offline, and the receipt are used.
// TryPlan also returns warnings. If there are errors, the error has CodeInvalid.
func (e *Engine) TryPlan(ctx context.Context, actor domain.Actor, files []planfile.File, r domain.StartRequest) (
	domain.Run, planner.Problems, error) {
	checked := e.CheckFiles(files)
	var problems planner.Problems
	for _, f := range checked {
		problems = append(problems, f.Problems...)
	}
	if err := problems.Err(); err != nil {
		return domain.Run{}, problems, domain.Errorf(domain.CodeInvalid, "the plan is not valid: %w", err)
	}
	var p domain.Plan
	var v domain.Version
	for _, f := range checked {
		tried, err := withKey(f.Doc, TrialKey(f.Doc.ID))
		if err != nil {
			return domain.Run{}, problems, domain.Errorf(domain.CodeInvalid, "the plan: %w", err)
		}
		if p, v, _, _, err = e.SavePlan(ctx, actor, tried, planner.FormatJSON, originTry, "tried without saving"); err != nil {
			return domain.Run{}, problems, err
		}
	}
	run, err := e.Start(
		ctx,
		actor,
		domain.StartRequest{Plan: p.ID, Hash: v.Hash, Profile: r.Profile, Input: r.Input, Labels: dryLabel, Dry: true,
			Offline: r.Offline, Receipt: r.Receipt},
	)
	return run, problems, err
}

// AcceptVersion makes a generated version the current version of its plan. It does nothing if the
// version is current. The error has CodeConflict if a person made the version. It has CodeForbidden
// if the version would replace one that a person wrote, and the actor is not an author.
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
