package engine

import (
	"context"
	"maps"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/internal/runstate"
)

// newRun carries out a rerun or a fork.
func (s *starter) newRun(ctx context.Context, actor domain.Actor, req domain.ActionRequest) (domain.Run, error) {
	if run, ok, err := s.startedBefore(ctx, req.Key); ok || err != nil {
		return run, err
	}
	v, err := s.e.Salvaged(ctx, req.Run)
	if err != nil {
		return domain.Run{}, err
	}
	if d := v.Damage; d != nil && len(d.Parts) > 0 {
		return domain.Run{}, preview.CheckDamaged(v.Run, req, d)
	}
	if req.Rev != 0 && req.Rev != v.Run.LastSeq {
		return domain.Run{}, domain.RunChanged(req.Rev, v.Run.LastSeq)
	}
	if preview.NeedsJournal(v.Run, req) {
		return domain.Run{}, preview.PurgedError(v.Run)
	}
	b, err := s.e.Branch(ctx, v, req)
	if err != nil {
		return domain.Run{}, err
	}
	action := "run." + string(req.Action)
	if err := s.e.allow(ctx, actor, v.RequiredRole(req, b.Preview), action, req.Run, ""); err != nil {
		return domain.Run{}, err
	}
	if req.Digest != "" && req.Digest != b.Preview.Digest {
		return domain.Run{}, preview.StaleError()
	}
	n := domain.NewRun{Profile: v.Run.Profile, Input: b.Input, Actor: actor.Name, Origin: string(req.Action),
		Session: v.Run.Session, Priority: v.Run.Priority, Slot: v.Run.Slot,
		Limits: runstate.MergeLimits(v.Run.Limits, req.Limits), Entries: b.Entries, Key: req.Key, Receipt: req.Receipt,
		Audit: []domain.AuditRecord{
			{Action: action, Actor: actor.Name, Source: actor.Source, Request: actor.Request, Run: v.Run.ID, Reason: req.Reason},
		}}
	if n.Labels = labelsBesidesPlan(v); req.Labels != nil {
		n.Labels = req.Labels
	}
	if d := v.Damage; d != nil {
		n.Audit[0].Detail = detail(map[string]any{"damagedRow": d.Row, "at": req.At})
	}
	if v.Run.Dry() {
		n.Origin = domain.OriginDry
	}
	if req.Profile != nil {
		n.Profile = *req.Profile
	}
	if req.Action == domain.ActionRerun {
		n.RerunOf = v.Run.ID
	} else {
		n.ForkedFrom, n.ForkSeq = v.Run.ID, req.At
	}
	return s.create(ctx, b.Program, n, actor)
}

// labelsBesidesPlan returns the labels of a run without those that its plan gave it. A rerun or a fork
// gets these again, for its own input and version.
func labelsBesidesPlan(v *preview.View) map[string]string {
	labels := maps.Clone(v.Run.Labels)
	if v.Program == nil {
		return labels
	}
	input, err := runstate.Decode(v.Run.Input)
	if err != nil {
		return labels
	}
	given, _ := v.Program.RunLabels(input)
	maps.DeleteFunc(labels, func(name, value string) bool {
		v, ok := given[name]
		return ok && v == value
	})
	return labels
}
