package storetest

import (
	"context"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
)

// PutVersion implements engine.Store.
func (m *Model) PutVersion(_ context.Context, n domain.NewVersion, actor domain.Actor) (domain.Plan, domain.Version, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range m.versions {
		if v.Hash == n.Hash {
			return *m.plan(v.PlanID), v, false, nil
		}
	}
	p := m.plan(n.Key)
	number := 1
	if p == nil {
		p = &domain.Plan{ID: domain.NewID(), Key: n.Key, Name: n.Name, Description: n.Description, Latest: 1, LatestHash: n.Hash,
			Stage: map[string]domain.PlanStage{"planner": domain.StageDraft, "try": domain.StageTrial,
				domain.OriginBlock: domain.StageBlock}[n.Origin]}
		m.plans = append(m.plans, p)
	} else {
		if n.Base != "" && n.Base != p.LatestHash {
			return domain.Plan{}, domain.Version{}, false, domain.Errorf(domain.CodeStale, "the plan has another newest version")
		}
		for _, v := range m.versions {
			if v.PlanID == p.ID {
				number = max(number, v.Number+1)
			}
		}
		proposed := n.Origin == "planner" && p.Stage == domain.StageUsed && !p.Archived
		if n.Origin != "replan" && n.Origin != "undo" && !proposed { // the version belongs to one run, or was not accepted
			p.Latest, p.LatestHash, p.Name, p.Description, p.Archived = number, n.Hash, n.Name, n.Description, false
			switch {
			case n.Origin == "planner" && p.Stage == domain.StageUsed:
				p.Stage = domain.StageDraft
			case n.Origin != "planner" && n.Origin != "try" && n.Origin != domain.OriginBlock:
				p.Stage = domain.StageUsed // a person has saved it
			}
		}
	}
	v := domain.Version{PlanID: p.ID, PlanKey: p.Key, Number: number, Hash: n.Hash, Semantics: n.Semantics, Kind: n.Kind, Format: n.Format,
		Source: slices.Clone(
			n.Source,
		), Canonical: slices.Clone(n.Canonical), Origin: n.Origin, ByPerson: n.ByPerson, ParentHash: n.ParentHash,
		Reason: n.Reason, Author: n.Author}
	m.versions = append(m.versions, v)
	m.record(
		domain.AuditRecord{Action: "plan.version", Actor: actor.Name, Source: actor.Source, Object: "plan:" + p.Key, Reason: n.Reason},
	)
	return *p, v, true, nil
}

func (m *Model) plan(idOrKey string) *domain.Plan {
	for _, by := range []func(*domain.Plan) string{func(p *domain.Plan) string { return p.Key },
		func(p *domain.Plan) string { return p.ID }} {
		for _, p := range m.plans {
			if by(p) == idOrKey {
				return p
			}
		}
	}
	return nil
}

// Plan implements engine.Store.
func (m *Model) Plan(_ context.Context, idOrKey string) (domain.Plan, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.plan(idOrKey); p != nil {
		return *p, nil
	}
	return domain.Plan{}, domain.Errorf(domain.CodeNotFound, "plan %q not found", idOrKey)
}

func (m *Model) version(is func(domain.Version) bool) (domain.Version, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.IndexFunc(m.versions, is); i >= 0 {
		return m.versions[i], nil
	}
	return domain.Version{}, domain.Errorf(domain.CodeNotFound, "no such version")
}

// VersionByHash implements engine.Store.
func (m *Model) VersionByHash(_ context.Context, hash string) (domain.Version, error) {
	return m.version(func(v domain.Version) bool { return v.Hash == hash })
}

// VersionByNumber implements engine.Store.
func (m *Model) VersionByNumber(_ context.Context, planID string, number int) (domain.Version, error) {
	return m.version(func(v domain.Version) bool { return v.PlanID == planID && v.Number == number })
}

// Archive sets whether a plan is archived, without an audit record.
func (m *Model) Archive(planID string, archived bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.plan(planID).Archived = archived
}

// RestoreVersion implements engine.Store.
func (m *Model) RestoreVersion(_ context.Context, r domain.RestoredVersion, actor domain.Actor) (domain.Plan, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.plan(r.PlanID)
	if p == nil {
		return domain.Plan{}, domain.Errorf(domain.CodeNotFound, "plan %q not found", r.PlanID)
	}
	if r.Base != "" && r.Base != p.LatestHash {
		return domain.Plan{}, domain.Errorf(domain.CodeStale, "the plan now follows another version")
	}
	for _, v := range m.versions {
		if v.Hash == r.Hash && v.PlanID == p.ID {
			p.Latest, p.LatestHash, p.Name, p.Description = v.Number, v.Hash, r.Name, r.Description
			action := "plan.restore"
			if r.Accepts {
				action, p.Stage, p.Archived = "plan.accept", domain.StageUsed, false
			}
			m.record(
				domain.AuditRecord{Action: action, Actor: actor.Name, Source: actor.Source, Object: "plan:" + p.Key, Reason: r.Reason},
			)
			return *p, nil
		}
	}
	return domain.Plan{}, domain.Errorf(domain.CodeNotFound, "no version with hash %q", r.Hash)
}

// AcceptPlan implements engine.Store.
func (m *Model) AcceptPlan(_ context.Context, planID string, actor domain.Actor, reason string) (domain.Plan, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.plan(planID)
	if p == nil {
		return domain.Plan{}, domain.Errorf(domain.CodeNotFound, "plan %q not found", planID)
	}
	if p.Stage == domain.StageDraft {
		p.Stage = domain.StageUsed
		m.record(
			domain.AuditRecord{Action: "plan.accept", Actor: actor.Name, Source: actor.Source, Object: "plan:" + p.Key, Reason: reason},
		)
	}
	return *p, nil
}
