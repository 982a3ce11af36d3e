package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// PutVersion stores a plan version, and the plan if it is the first; known
// content gives the existing version and created false.
func (s entities) PutVersion(ctx context.Context, v domain.NewVersion, actor domain.Actor) (domain.Plan, domain.Version, bool, error) {
	created := false
	err := s.store.writer.perform(func(w *writer) ([]auditRow, error) {
		created = false
		if _, err := w.q.VersionOfRun(w.ctx, v.Hash); err == nil {
			return nil, nil
		} else if !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
		now := w.s.now().UnixMicro()
		p, err := w.q.PlanByKey(w.ctx, v.Key)
		number, apart := int64(1), false // apart: the plan stays as it is
		switch {
		case errors.Is(err, sql.ErrNoRows):
			p, err = w.q.PlanInsert(w.ctx, dbsqlc.PlanInsertParams{PublicID: domain.NewID(), Key: v.Key, Name: v.Name, Description: v.Description,
				LatestHash: v.Hash, Stage: string(firstStage(v.Origin)), CreatedAt: now})
		case err == nil && v.Base != "" && v.Base != p.LatestHash:
			return nil, domain.Errorf(domain.CodeStale, "plan %s has version %d by now, which is not the one that this was made from", v.Key, p.Latest).
				Suggest("look at what has changed, and save on top of that")
		case err == nil:
			if number, err = w.q.VersionLast(w.ctx, p.ID); err != nil {
				return nil, err
			}
			number++
			if apart = v.Origin == originReplan || v.Origin == originPlanner && p.Stage == string(domain.StageUsed) && p.ArchivedAt == 0; apart {
				break // it is one run's, or nobody has accepted it: others follow what a person chose
			}
			switch v.Origin {
			case originTry:
			case originPlanner:
				if p.Stage == string(domain.StageUsed) { // it was archived
					p.Stage = string(domain.StageDraft)
				}
			default:
				p.Stage = string(domain.StageUsed) // a person has saved it
			}
			err = w.q.PlanAdvance(w.ctx, dbsqlc.PlanAdvanceParams{Latest: number, LatestHash: v.Hash, Name: v.Name, Description: v.Description, UpdatedAt: now, Stage: p.Stage, ID: p.ID})
		}
		if err == nil && !apart {
			err = w.putFacts(p.ID, v.Facts)
		}
		if err != nil {
			return nil, err
		}
		_, err = w.q.VersionInsert(w.ctx, dbsqlc.VersionInsertParams{PlanID: p.ID, Number: number, Hash: v.Hash, Semantics: int64(v.Semantics),
			Kind: v.Kind, Format: v.Format, Source: v.Source, Canonical: v.Canonical, Origin: v.Origin, ByPerson: core.Flag(v.ByPerson),
			ParentHash: v.ParentHash, Reason: v.Reason, Author: v.Author, CreatedAt: now})
		created = true
		return []auditRow{{record: domain.AuditRecord{Action: "plan.version", Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Object: "plan:" + v.Key,
			Reason: v.Reason, Detail: domain.RawJSON(core.EncodeJSON(map[string]any{"version": number, "hash": v.Hash}))}}}, err
	})
	if err != nil {
		return domain.Plan{}, domain.Version{}, false, err
	}
	stored, err := s.store.VersionByHash(ctx, v.Hash)
	if err != nil {
		return domain.Plan{}, domain.Version{}, false, err
	}
	p, err := s.store.Plan(ctx, stored.PlanID)
	return p, stored, created, err
}

// Origins of versions that people did not save as such: made for one run under
// way, by a planner, or to try something once.
const (
	originReplan  = "replan"
	originPlanner = "planner"
	originTry     = "try"
)

// firstStage is the stage of a plan whose first version has an origin.
func firstStage(origin string) domain.PlanStage {
	switch origin {
	case originPlanner:
		return domain.StageDraft
	case originTry:
		return domain.StageTrial
	}
	return domain.StageUsed
}

// putFacts replaces what a plan is found by.
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

// RestoreVersion makes another version of a plan its current one: an earlier one, or
// one that a planner made and a person accepts.
func (s entities) RestoreVersion(ctx context.Context, r domain.RestoredVersion, actor domain.Actor) (domain.Plan, error) {
	err := s.store.writer.perform(func(w *writer) ([]auditRow, error) {
		p, err := w.q.PlanByPublicID(w.ctx, r.PlanID)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, domain.Errorf(domain.CodeNotFound, "no plan %q", r.PlanID)
		} else if err != nil {
			return nil, err
		}
		if r.Base != "" && r.Base != p.LatestHash {
			return nil, domain.Errorf(domain.CodeStale, "plan %s follows version %d by now", p.Key, p.Latest).Suggest("look at what has changed, and restore on top of that")
		}
		v, err := w.q.VersionByHash(w.ctx, r.Hash)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
		if err != nil || v.PlanVersion.PlanID != p.ID {
			return nil, domain.Errorf(domain.CodeNotFound, "plan %s has no version with hash %s", p.Key, r.Hash)
		}
		action, stage := "plan.restore", p.Stage
		if r.Accepts {
			action, stage = "plan.accept", string(domain.StageUsed)
		}
		if err := w.q.PlanAdvance(w.ctx, dbsqlc.PlanAdvanceParams{Latest: v.PlanVersion.Number, LatestHash: r.Hash, Name: r.Name, Description: r.Description,
			UpdatedAt: w.s.now().UnixMicro(), Stage: stage, ID: p.ID}); err != nil {
			return nil, err
		}
		return []auditRow{{record: domain.AuditRecord{Action: action, Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Object: "plan:" + p.Key, Reason: r.Reason,
			Detail: domain.RawJSON(core.EncodeJSON(map[string]any{"version": v.PlanVersion.Number, "hash": r.Hash, "from": p.Latest}))}}}, w.putFacts(p.ID, r.Facts)
	})
	if err != nil {
		return domain.Plan{}, core.Translate(err, "restore a plan version")
	}
	return s.store.Plan(ctx, r.PlanID)
}

// AcceptPlan takes a draft into use.
func (s entities) AcceptPlan(ctx context.Context, planID string, actor domain.Actor, reason string) (domain.Plan, error) {
	err := s.store.writer.perform(func(w *writer) ([]auditRow, error) {
		p, err := w.q.PlanByPublicID(w.ctx, planID)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, domain.Errorf(domain.CodeNotFound, "no plan %q", planID)
		} else if err != nil {
			return nil, err
		}
		if p.Stage != string(domain.StageDraft) {
			return nil, nil // somebody else was first
		}
		return []auditRow{{record: domain.AuditRecord{Action: "plan.accept", Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Object: "plan:" + p.Key, Reason: reason,
				Detail: domain.RawJSON(core.EncodeJSON(map[string]any{"version": p.Latest, "hash": p.LatestHash}))}}},
			w.q.PlanAccept(w.ctx, w.s.now().UnixMicro(), planID)
	})
	if err != nil {
		return domain.Plan{}, core.Translate(err, "accept a plan")
	}
	return s.store.Plan(ctx, planID)
}
