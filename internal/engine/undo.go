package engine

import (
	"cmp"
	"context"
	"maps"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/inspect"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// undo starts the run that undoes the completed steps of a run. The caller holds the lock of the run, so
// that the run is not resumed meanwhile, and has one undo run at a time.
func (s *starter) undo(ctx context.Context, actor domain.Actor, req domain.ActionRequest) (domain.Run, error) {
	if req.Digest == "" {
		return domain.Run{}, domain.Errorf(domain.CodeInvalid, "an undo needs the digest of its preview").
			Suggest("preview it first, and send the digest that the preview shows")
	}
	v, err := s.e.Salvaged(ctx, req.Run)
	if err != nil {
		return domain.Run{}, err
	}
	if req.Rev != 0 && req.Rev != v.Run.LastSeq {
		return domain.Run{}, domain.RunChanged(req.Rev, v.Run.LastSeq)
	}
	if err := s.e.allow(ctx, actor, domain.RoleOperator, "run.undo", req.Run, ""); err != nil {
		return domain.Run{}, err
	}
	if preview.NeedsJournal(v.Run, req) {
		return domain.Run{}, preview.PurgedError(v.Run)
	}
	u, err := s.e.Undo(ctx, v, req)
	if err != nil {
		return domain.Run{}, err
	}
	if req.Digest != u.Preview.Digest {
		return domain.Run{}, preview.StaleError()
	}
	plan, _, err := s.e.ReadPlan(u.Plan, planner.FormatJSON, domain.OriginUndo)
	if err != nil {
		return domain.Run{}, err
	}
	plan.ByPerson, plan.ParentHash, plan.Reason = u.ByPerson, v.Run.Hash, "undo of run "+domain.ShortID(v.Run.ID)
	_, stored, _, err := s.e.store.PutVersion(ctx, plan.By(actor.Name), actor)
	if err != nil {
		return domain.Run{}, err
	}
	p, err := s.e.program(ctx, domain.AsWritten(stored.Hash))
	if err != nil {
		return domain.Run{}, err
	}
	return s.create(ctx, p, domain.NewRun{Profile: v.Run.Profile, Input: u.Input, Actor: actor.Name, Origin: domain.OriginUndo,
		Lineage:  domain.Lineage{Undoes: v.Run.ID},
		Priority: v.Run.Priority, Labels: maps.Clone(v.Run.Labels), Receipt: req.Receipt,
		Audit: []domain.AuditRecord{{Action: "run.undo", Actor: actor.Name, Source: actor.Source, Request: actor.Request, Run: v.Run.ID,
			Reason: req.Reason, Detail: detail(map[string]any{"steps": len(u.Preview.Undo)})}}}, actor)
}

// checkNotUndone refuses the resume of a run after an undo.
func checkNotUndone(ctx context.Context, e *Engine, id string) error {
	run, err := e.store.Run(ctx, id)
	if err != nil {
		return err
	}
	return e.CheckNotUndone(ctx, run)
}

// planKey returns the key of the plan whose permissions apply to a step. A step of an undo run has those
// of the plan that the undone step belongs to, and a step of a block those of the plan around it.
func planKey(run domain.Run, n *walk.ProgramNode) string {
	if run.Undoes == "" {
		return walk.PlanOf(run.PlanKey)
	}
	return walk.PlanOf(cmp.Or(n.Metadata[inspect.MetaPlan], run.PlanKey))
}
