package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// PutVersion stores a plan version, and the plan if it is its first version. If the content is
// known, it returns the existing version, and created is false.
func (s entities) PutVersion(
	ctx context.Context,
	v domain.NewVersion,
	actor domain.Actor,
) (p domain.Plan, stored domain.Version, created bool, err error) {
	if _, _, err = s.store.Do(s.store.by("store a plan", actor), func(tx *Tx) (string, error) {
		created, err = tx.PutVersion(v)
		return "", err
	}); err != nil {
		return p, stored, false, err
	}
	if stored, err = s.store.VersionByHash(ctx, v.Hash); err == nil {
		p, err = s.store.Plan(ctx, stored.PlanID)
	}
	return p, stored, created, err
}

// by is an operation of an actor, now.
func (s *Store) by(name string, actor domain.Actor) Operation {
	return Operation{Name: name, By: actor, At: s.now()}
}

// PutVersion stores a plan version, and the plan if it is its first version ("plan.version"). If
// the content is known, it changes nothing, and created is false. It returns CodeStale if the
// plan's newest version is not the base of this one.
func (tx *Tx) PutVersion(v domain.NewVersion) (created bool, err error) {
	w, now := tx.w, core.Micros(tx.op.At)
	if _, err := w.q.VersionOfRun(w.ctx, v.Hash); err == nil {
		return false, nil
	} else if !errors.Is(err, sql.ErrNoRows) {
		return false, err
	}
	p, err := w.q.PlanByKey(w.ctx, v.Key)
	number, apart := int64(1), false // apart: the plan's current version stays
	switch {
	case errors.Is(err, sql.ErrNoRows):
		p, err = w.q.PlanInsert(
			w.ctx,
			dbsqlc.PlanInsertParams{PublicID: domain.NewID(), Key: v.Key, Name: v.Name, Description: v.Description,
				LatestHash: v.Hash, Stage: string(firstStage(v.Origin)), CreatedAt: now},
		)
	case err == nil && v.Base != "" && v.Base != p.LatestHash:
		return false, domain.Errorf(domain.CodeStale, "plan %s now has version %d, not the version you started from", v.Key, p.Latest).
			Suggest("review the changes and save again")
	case err == nil:
		if number, err = w.q.VersionLast(w.ctx, p.ID); err != nil {
			return false, err
		}
		number++
		if apart = v.Origin == originReplan || v.Origin == originUndo || v.Origin == originPlanner && p.Stage == string(domain.StageUsed) &&
			p.ArchivedAt == 0; apart {
			break // it belongs to one run, or is not accepted; the plan keeps the version that a person chose
		}
		switch v.Origin {
		case originTry, domain.OriginBlock:
		case originPlanner:
			if p.Stage == string(domain.StageUsed) { // the plan was archived
				p.Stage = string(domain.StageDraft)
			}
		default:
			p.Stage = string(domain.StageUsed) // a person has saved it
		}
		err = w.q.PlanAdvance(
			w.ctx,
			dbsqlc.PlanAdvanceParams{
				Latest:      number,
				LatestHash:  v.Hash,
				Name:        v.Name,
				Description: v.Description,
				UpdatedAt:   now,
				Stage:       p.Stage,
				ID:          p.ID,
			},
		)
	}
	if err == nil && !apart {
		err = w.putFacts(p.ID, v.Facts)
	}
	if err == nil && !apart && v.Origin != originTry && v.Origin != originPlanner && v.Origin != domain.OriginBlock {
		err = tx.Schedules().declare(p, v.Schedule)
	}
	if err != nil {
		return false, err
	}
	tx.audit("plan.version", auditRow{record: domain.AuditRecord{Object: "plan:" + v.Key, Reason: v.Reason,
		Detail: domain.RawJSON(core.EncodeJSON(map[string]any{"version": number, "hash": v.Hash}))}})
	_, err = w.q.VersionInsert(w.ctx, dbsqlc.VersionInsertParams{PlanID: p.ID, Number: number, Hash: v.Hash, Semantics: int64(v.Semantics),
		Kind: v.Kind, Format: v.Format, Source: v.Source, Canonical: v.Canonical, Origin: v.Origin, ByPerson: core.Flag(v.ByPerson),
		ParentHash: v.ParentHash, Reason: v.Reason, Author: v.Author, CreatedAt: now})
	return true, err
}

// Origins of versions that people did not save: made for one active run, for the undo of a run, by a
// planner, or for a single trial.
const (
	originReplan  = "replan"
	originUndo    = "undo"
	originPlanner = "planner"
	originTry     = "try"
)

// firstStage is the stage of a plan whose first version has this origin.
func firstStage(origin string) domain.PlanStage {
	switch origin {
	case originPlanner:
		return domain.StageDraft
	case originTry:
		return domain.StageTrial
	case domain.OriginBlock:
		return domain.StageBlock
	}
	return domain.StageUsed
}

// putFacts replaces the facts by which a plan is found.
func (w *writer) putFacts(planID int64, facts []domain.PlanFact) error {
	if err := w.q.PlanFactsClear(w.ctx, planID); err != nil {
		return err
	}
	for _, f := range facts {
		if err := w.q.PlanFactAdd(w.ctx, planID, f.Kind, f.Value); err != nil {
			return err
		}
	}
	return nil
}

// RestoreVersion makes another version of a plan its current one: an earlier version, or a
// planner's version that a person accepts.
func (s entities) RestoreVersion(ctx context.Context, r domain.RestoredVersion, actor domain.Actor) (domain.Plan, error) {
	if _, _, err := s.store.Do(s.store.by("restore a plan version", actor),
		func(tx *Tx) (string, error) { return r.PlanID, tx.RestoreVersion(r) }); err != nil {
		return domain.Plan{}, err
	}
	return s.store.Plan(ctx, r.PlanID)
}

// RestoreVersion makes another version of a plan its current one ("plan.restore", or
// "plan.accept" of one that a planner made). CodeNotFound; CodeStale when the plan's
// current version is not r.Base.
func (tx *Tx) RestoreVersion(r domain.RestoredVersion) error {
	w := tx.w
	p, err := w.q.PlanByPublicID(w.ctx, r.PlanID)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Errorf(domain.CodeNotFound, "plan %q not found", r.PlanID)
	} else if err != nil {
		return err
	}
	if r.Base != "" && r.Base != p.LatestHash {
		return domain.Errorf(domain.CodeStale, "plan %s now uses version %d", p.Key, p.Latest).
			Suggest("review the changes and restore again")
	}
	v, err := w.q.VersionByHash(w.ctx, r.Hash)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err != nil || v.PlanVersion.PlanID != p.ID {
		return domain.Errorf(domain.CodeNotFound, "plan %s has no version with hash %s", p.Key, r.Hash)
	}
	action, stage := "plan.restore", p.Stage
	if r.Accepts {
		action, stage = "plan.accept", string(domain.StageUsed)
	}
	if err := w.q.PlanAdvance(w.ctx, dbsqlc.PlanAdvanceParams{Latest: v.PlanVersion.Number, LatestHash: r.Hash, Name: r.Name,
		Description: r.Description,
		UpdatedAt:   core.Micros(tx.op.At), Stage: stage, ID: p.ID}); err != nil {
		return err
	}
	tx.audit(action, auditRow{record: domain.AuditRecord{Object: "plan:" + p.Key, Reason: r.Reason,
		Detail: domain.RawJSON(core.EncodeJSON(map[string]any{"version": v.PlanVersion.Number, "hash": r.Hash, "from": p.Latest}))}})
	if err := w.putFacts(p.ID, r.Facts); err != nil {
		return err
	}
	return tx.Schedules().declare(p, r.Schedule)
}

// AcceptPlan accepts a draft.
func (s entities) AcceptPlan(ctx context.Context, planID string, actor domain.Actor, reason string) (domain.Plan, error) {
	if _, _, err := s.store.Do(s.store.by("accept a plan", actor),
		func(tx *Tx) (string, error) { return planID, tx.AcceptPlan(planID, reason) }); err != nil {
		return domain.Plan{}, err
	}
	return s.store.Plan(ctx, planID)
}

// AcceptPlan accepts a draft ("plan.accept"). A plan that is not a draft does not change. It
// returns CodeNotFound.
func (tx *Tx) AcceptPlan(planID, reason string) error {
	w := tx.w
	p, err := w.q.PlanByPublicID(w.ctx, planID)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Errorf(domain.CodeNotFound, "plan %q not found", planID)
	} else if err != nil || p.Stage != string(domain.StageDraft) {
		return err
	}
	tx.audit("plan.accept", auditRow{record: domain.AuditRecord{Object: "plan:" + p.Key, Reason: reason,
		Detail: domain.RawJSON(core.EncodeJSON(map[string]any{"version": p.Latest, "hash": p.LatestHash}))}})
	return w.q.PlanAccept(w.ctx, core.Micros(tx.op.At), planID)
}
