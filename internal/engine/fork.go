package engine

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/internal/runstate"
)

// newRun performs a rerun or a fork.
func (e *Engine) newRun(ctx context.Context, actor domain.Actor, req domain.VerbRequest) (domain.Run, error) {
	if run, ok, err := e.startedBefore(ctx, req.Key); ok || err != nil {
		return run, err
	}
	v, err := e.salvaged(ctx, req.Run)
	if err != nil {
		return domain.Run{}, err
	}
	if d := v.Damage; d != nil && len(d.Parts) > 0 {
		return domain.Run{}, preview.CheckDamaged(v.Run, req, d)
	}
	if req.Rev != 0 && req.Rev != v.Run.LastSeq {
		return domain.Run{}, domain.Errorf(domain.CodeStale, "the run has moved on from revision %d to %d", req.Rev, v.Run.LastSeq).Suggest("look at it again")
	}
	if preview.NeedsJournal(v.Run, req) {
		return domain.Run{}, preview.PurgedError(v.Run)
	}
	b, err := e.branch(ctx, v, req)
	if err != nil {
		return domain.Run{}, err
	}
	action := "run." + string(req.Action)
	if err := e.allow(ctx, actor, v.RequiredRole(req, b.Preview), action, req.Run, ""); err != nil {
		return domain.Run{}, err
	}
	if req.Digest != "" && req.Digest != b.Preview.Digest {
		return domain.Run{}, preview.StaleError()
	}
	n := domain.NewRun{Input: b.Input, Actor: actor.Name, Origin: string(req.Action), Session: v.Run.Session, Priority: v.Run.Priority,
		Labels: v.Run.Labels, Limits: runstate.MergeLimits(v.Run.Limits, req.Limits), Entries: b.Entries, Key: req.Key, Receipt: req.Receipt,
		Audit: []domain.AuditRecord{{Action: action, Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Run: v.Run.ID, Reason: req.Reason}}}
	if req.Labels != nil {
		n.Labels = req.Labels
	}
	if d := v.Damage; d != nil {
		n.Audit[0].Detail = detail(map[string]any{"damagedRow": d.Row, "at": req.At})
	}
	if v.Run.Dry() {
		n.Origin = domain.OriginDry
	}
	if req.Action == domain.ActionRerun {
		n.RerunOf = v.Run.ID
	} else {
		n.ForkedFrom, n.ForkSeq = v.Run.ID, req.At
	}
	return e.create(ctx, b.Program, n, actor)
}

// branch is what a rerun or fork starts with. It loads what the view's branch needs.
func (e *Engine) branch(ctx context.Context, v *preview.View, req domain.VerbRequest) (*preview.Branch, error) {
	prog, err := e.followed(ctx, v, req)
	if err != nil {
		return nil, err
	}
	raw := v.Run.Input
	if req.Input != nil {
		raw = req.Input
	}
	input, err := runstate.Decode(raw)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "input: %w", err)
	}
	if prog.InputSchema != nil && (req.Input != nil || prog != v.Program) {
		if err := validate(ctx, prog.InputSchema, raw, "input"); err != nil {
			return nil, err
		}
	}
	// The old run's pins hold for the same version; another one and a rerun are pinned
	// again.
	plans := v.State.Plans
	if prog.HasPlans && (prog != v.Program || req.Action == domain.ActionRerun || plans == nil) {
		if plans, err = e.resolvePlans(ctx, prog); err != nil {
			return nil, err
		}
	}
	return v.Branch(req, prog, raw, input, plans)
}

// followed is the version that is asked for: a number, -1 the newest, 0 the one that the
// run followed there.
func (e *Engine) followed(ctx context.Context, v *preview.View, req domain.VerbRequest) (*runstate.Compiled, error) {
	r := v.Run
	var hash string
	switch {
	case req.Version == 0 && req.Action == domain.ActionRerun && !r.PurgedAt.IsZero():
		// The journal is gone; what was made for one run says whose tail it is.
		ver := v.Program.Version
		for ver.Origin == runstate.KindReplan && ver.ParentHash != "" {
			var err error
			if ver, err = e.store.VersionByHash(ctx, ver.ParentHash); err != nil {
				return nil, err
			}
		}
		hash = ver.Hash
	case req.Version == 0:
		// A rerun begins where the run began: a tail was planned for what had been
		// done and had failed in one run, and is never its plan's.
		hash = runstate.VersionAt(v.Journal, req.At, v.Program.Hash)
	case req.Version < 0:
		p, err := e.store.Plan(ctx, r.PlanID)
		if err != nil {
			return nil, err
		}
		hash = p.LatestHash
	case req.Version == v.Program.Version.Number:
		return v.Program, nil
	default:
		ver, err := e.store.VersionByNumber(ctx, r.PlanID, req.Version)
		if err != nil {
			return nil, err
		}
		hash = ver.Hash
	}
	if hash == v.Program.Hash {
		return v.Program, nil
	}
	return e.program(ctx, hash)
}
