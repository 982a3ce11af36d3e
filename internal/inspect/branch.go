package inspect

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/versions"
)

// Branch returns the start of a rerun or fork. It loads the data that [preview.View.Branch] needs.
func (in *Inspector) Branch(ctx context.Context, v *preview.View, req domain.ActionRequest) (*preview.Branch, error) {
	if v.Run.Undoes != "" {
		return nil, preview.RepeatUndoError(v.Run)
	}
	prog, err := in.followed(ctx, v, req)
	if err != nil {
		return nil, err
	}
	if req.Action == domain.ActionFork {
		if v.Undone, err = in.undone(ctx, v.Run.ID); err != nil {
			return nil, err
		}
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
		if err := versions.CheckValue(ctx, prog.InputSchema, raw, "input"); err != nil {
			return nil, err
		}
	}
	// The same version keeps the old run's pins. Another version and a rerun are pinned again.
	plans := v.State.Plans
	if prog.HasPlans && (prog != v.Program || req.Action == domain.ActionRerun || plans == nil) {
		if plans, err = in.c.Versions.Pins(ctx, prog); err != nil {
			return nil, err
		}
	}
	return v.Branch(req, prog, raw, input, plans)
}

// followed returns the requested version: a number, -1 for the newest, or 0 for the version that
// the run used there. It has the requested profile, or that of the run.
func (in *Inspector) followed(ctx context.Context, v *preview.View, req domain.ActionRequest) (*runstate.Compiled, error) {
	r := v.Run
	var hash string
	ref := r.ProgramRef
	if req.Profile != nil {
		ref.Profile = *req.Profile
	}
	switch {
	case req.Version == 0 && req.Action == domain.ActionRerun && !r.PurgedAt.IsZero():
		// The journal is gone. A version that a replan created belongs to one run, so its origin is
		// used.
		ver := v.Program.Version
		for ver.Origin == runstate.KindReplan && ver.ParentHash != "" {
			var err error
			if ver, err = in.c.Store.VersionByHash(ctx, ver.ParentHash); err != nil {
				return nil, err
			}
		}
		hash = ver.Hash
	case req.Version == 0:
		// A rerun begins with the run's first version, because a replan only covers the remaining
		// steps of one run.
		hash = runstate.VersionAt(v.Journal, req.At, v.Program.Hash)
	case req.Version < 0:
		p, err := in.c.Store.Plan(ctx, r.PlanID)
		if err != nil {
			return nil, err
		}
		hash = p.LatestHash
	case req.Version == v.Program.Version.Number:
		hash = v.Program.Hash
	default:
		ver, err := in.c.Store.VersionByNumber(ctx, r.PlanID, req.Version)
		if err != nil {
			return nil, err
		}
		hash = ver.Hash
	}
	if hash == v.Program.Hash && ref.Profile == r.Profile {
		return v.Program, nil
	}
	if v.Program.Profile != "" || req.Profile != nil { // the plan of a child run need not declare the profile of its parent
		if err := in.c.Versions.CheckProfile(ctx, hash, ref.Profile); err != nil {
			return nil, err
		}
	}
	return in.c.Versions.Compile(ctx, domain.ProgramRef{Hash: hash, Profile: ref.Profile})
}
