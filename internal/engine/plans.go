package engine

import (
	"context"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

// CheckPlan validates a document against this installation without storing it.
func (e *Engine) CheckPlan(src []byte, f planner.Format) (*planner.Document, planner.Problems) {
	catalog := e.registry.Catalog()
	doc, _ := planner.Parse(src, f)
	if doc == nil {
		// Whoever mends the document wants to see what this installation lacks too.
		_, problems := planner.ParseFor(src, f, catalog)
		return nil, problems
	}
	return doc, doc.Check(catalog)
}

// SavePlan parses, validates and stores a document. Problems are returned also
// when it is stored (warnings); with errors the error is CodeInvalid.
func (e *Engine) SavePlan(ctx context.Context, actor kairos.Actor, src []byte, f planner.Format, origin, reason string) (kairos.Plan, kairos.Version, bool, planner.Problems, error) {
	return e.SavePlanOver(ctx, actor, src, f, origin, reason, "")
}

// SavePlanOver is SavePlan for a document that was made from a version: when the
// plan has another newest version by now, nothing is stored (CodeStale). An empty
// base is any.
func (e *Engine) SavePlanOver(ctx context.Context, actor kairos.Actor, src []byte, f planner.Format, origin, reason, base string) (kairos.Plan, kairos.Version, bool, planner.Problems, error) {
	if err := e.allow(ctx, actor, kairos.RoleAuthor, "plan.save", "", ""); err != nil {
		return kairos.Plan{}, kairos.Version{}, false, nil, err
	}
	doc, problems := e.CheckPlan(src, f)
	if err := problems.Err(); err != nil {
		return kairos.Plan{}, kairos.Version{}, false, problems, kairos.Errorf(kairos.CodeInvalid, "the plan is not valid: %w", err)
	}
	v := kairos.NewVersion{Key: doc.ID, Hash: doc.Hash, Kind: string(doc.Kind()), Format: string(doc.Format), Origin: origin,
		Semantics: planner.Semantics, Source: doc.Source, Canonical: doc.Canonical(),
		ByPerson: origin != "planner" && origin != "replan", Reason: reason, Author: actor.Name, Base: base}
	if doc.Graph != nil {
		v.Name, v.Description = doc.Graph.Name, doc.Graph.Description
	} else {
		v.Name, v.Description = doc.Steps.Name, doc.Steps.Description
	}
	p, stored, created, err := e.store.PutVersion(ctx, v, actor)
	return p, stored, created, problems, err
}

// NewestVersion finds a plan by key or id, archived ones included, with its newest
// version; CodeNotFound.
func (e *Engine) NewestVersion(ctx context.Context, plan string) (kairos.Plan, kairos.Version, error) {
	p, err := e.store.Plan(ctx, plan)
	if err != nil {
		return p, kairos.Version{}, err
	}
	v, err := e.store.VersionByHash(ctx, p.LatestHash)
	return p, v, err
}

// ArchivePlan hides a plan from lists, or shows it again.
func (e *Engine) ArchivePlan(ctx context.Context, actor kairos.Actor, plan string, archived bool, reason string) error {
	action := "plan.unarchive"
	if archived {
		action = "plan.archive"
	}
	if err := e.allow(ctx, actor, kairos.RoleAuthor, action, "", "plan:"+plan); err != nil {
		return err
	}
	p, err := e.store.Plan(ctx, plan)
	if err != nil {
		return err
	}
	if p.Archived == archived {
		if !archived {
			return kairos.Errorf(kairos.CodeConflict, "plan %s is not archived", p.Key)
		}
		return kairos.Errorf(kairos.CodeConflict, "plan %s is archived already", p.Key)
	}
	return e.store.ArchivePlan(ctx, p.ID, archived, actor, reason)
}
