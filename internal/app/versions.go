package app

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/planfile"
	"github.com/kairosd/kairosd/planner/planschema"
)

// Check validates a document without storing it. It also returns the warnings of a valid document.
//
// Errors: forbidden.
func (p *Plans) Check(ctx context.Context, by domain.Actor, source []byte, f planner.Format) (*planner.Document, planner.Problems, error) {
	if err := p.allow(ctx, CheckPlan, by, ""); err != nil {
		return nil, nil, err
	}
	doc, problems := p.engine.CheckPlan(source, f)
	return doc, problems, nil
}

// Settings lists the settings of the steps of a valid document after all defaults, with a profile, and the tools
// and agents of the server.
//
// Errors: invalid (the profile).
func (p *Plans) Settings(doc *planner.Document, profile string) ([]domain.StepSettings, error) {
	if profile != "" {
		known := doc.Profiles
		if doc = doc.With(profile); doc == nil {
			return nil, domain.ProfileError(profile, known)
		}
	}
	catalog := p.engine.Catalog()
	program, err := doc.Program(catalog)
	if err != nil {
		return nil, err
	}
	return domain.StepSettingsOf(program, catalog.EffectOf), nil
}

// Schema returns the JSON Schema of plans, with the tools, agents, and skills of the server.
//
// Errors: forbidden.
func (p *Plans) Schema(ctx context.Context, by domain.Actor) (map[string]any, error) {
	if err := p.allow(ctx, GetPlanSchema, by, ""); err != nil {
		return nil, err
	}
	return planschema.Of(p.engine.Catalog()), nil
}

// PlanDocument is a document to store.
type PlanDocument struct {
	Meta   `json:"-"`
	Source []byte
	Format planner.Format
	Origin string // source of the document: upload, cli, or try
	Reason string // kept with the version
	Base   string // hash of the version that the document is based on; empty: no check
}

// StoredPlan is a stored version.
type StoredPlan struct {
	Plan    domain.Plan
	Version domain.Version
	Created bool // false: the content was already stored
	// Problems contains the warnings about the document.
	Problems planner.Problems
}

// Store stores a document as a new version of its plan. If the content is already stored, it
// returns the existing version. It returns problems together with an error.
//
// Errors: invalid (the document), stale (the plan has a newer version than Base), forbidden.
func (p *Plans) Store(ctx context.Context, req PlanDocument) (StoredPlan, error) {
	if err := p.allow(ctx, StorePlan, req.By, string(StorePlan)); err != nil {
		return StoredPlan{}, err
	}
	read, problems, err := p.engine.ReadPlan(req.Source, req.Format, req.Origin)
	if err != nil {
		return StoredPlan{Problems: problems}, err
	}
	read.Reason, read.Base = req.Reason, req.Base
	version := p.storedVersion()
	out, repeated, err := performWithWork(ctx, p.kernel, StorePlan, req.Meta, req, version, func(tx *store.Tx) (StoredPlan, error) {
		created, err := tx.PutVersion(read.By(req.By.Name))
		return StoredPlan{Version: domain.Version{Hash: read.Hash}, Created: created}, err
	})
	if err == nil && !repeated {
		created := out.Created
		if out, err = version.find(ctx, read.Hash); err == nil && created {
			out.Created = true
			p.engine.KeepPlan(read, out.Version)
		}
	}
	out.Problems = problems
	return out, err
}

// storedVersion is the object of operations that store a version.
func (p *Plans) storedVersion() object[StoredPlan] {
	return object[StoredPlan]{
		id: func(s StoredPlan) string { return s.Version.Hash },
		find: func(ctx context.Context, hash string) (StoredPlan, error) {
			v, err := p.store.VersionByHash(ctx, hash)
			if err != nil {
				return StoredPlan{}, err
			}
			plan, err := p.store.Plan(ctx, v.PlanID)
			return StoredPlan{Plan: plan, Version: v}, err
		},
	}
}

// PlanTrial is a document to try.
type PlanTrial struct {
	Meta   `json:"-"`
	Source []byte
	Format planner.Format
	// Files, if not empty, replaces Source with files that name each other.
	Files PlanTexts
	Input domain.RawJSON
	// Profile is a profile that the document declares. Empty means none.
	Profile string
	// Offline also skips steps that read from other systems.
	Offline bool
}

// Try starts a dry run of a document without saving it. No plan gets another version. It also
// returns the warnings of a valid document.
//
// Errors: invalid (the document or the input), forbidden, unavailable.
func (p *Plans) Try(ctx context.Context, req PlanTrial) (run domain.Run, problems planner.Problems, err error) {
	run, err = command(
		ctx,
		p.kernel,
		TryPlan,
		req.Meta,
		req,
		p.store.FindRun,
		func(ctx context.Context, receipt *domain.Receipt) (domain.Run, error) {
			r := domain.StartRequest{Input: req.Input, Profile: req.Profile, Offline: req.Offline, Receipt: receipt}
			var err error
			files := []planfile.File{planfile.Alone(req.Source, req.Format)}
			if req.Files.Root != "" {
				if files, problems = req.Files.link(engine.TrialKey); problems.Err() != nil {
					return run, invalidFiles(problems)
				}
			}
			run, problems, err = p.engine.TryPlan(ctx, req.By, files, r)
			return run, err
		},
	)
	return run, problems, err
}

// VersionChange makes a version the current one of its plan.
type VersionChange struct {
	Meta   `json:"-"`
	Plan   string // id or key
	Number int    // of the version; 0: the current one
	Base   string // hash of the version that the caller saw as current; empty: no check
	Reason string // kept in the audit log
}

// Restore makes an earlier version of a plan its current one. New runs then follow it.
//
// Errors: not_found, stale (the current one is not Base), invalid (it can no longer be read),
// forbidden.
func (p *Plans) Restore(ctx context.Context, req VersionChange) (domain.Plan, error) {
	if plan, done, err := before(ctx, p.kernel, RestoreVersion, req.Meta, req, p.object()); done || err != nil {
		return plan, err
	}
	plan, err := p.store.Plan(ctx, req.Plan)
	if err != nil {
		return plan, err
	}
	v, err := p.store.VersionByNumber(ctx, plan.ID, req.Number)
	if err != nil {
		return plan, err
	}
	if v.Hash == plan.LatestHash {
		return plan, nil
	}
	r, err := p.engine.Restored(ctx, v, req.Reason)
	if err != nil {
		return plan, err
	}
	r.Base = req.Base
	return perform(ctx, p.kernel, RestoreVersion, req.Meta, req, p.object(), func(tx *store.Tx) (domain.Plan, error) {
		if err := tx.RestoreVersion(r); err != nil {
			return domain.Plan{}, err
		}
		return tx.Plan(plan.ID)
	})
}

// Accept makes a planner's version the plan's current one. If it is already current, nothing
// changes. With Number 0, a plan that is not a draft is returned unchanged.
//
// Errors: not_found, conflict (a person made the version, or the plan is archived), stale (the
// current version has changed), forbidden (also if a person wrote the current version and the
// principal may not write plans).
func (p *Plans) Accept(ctx context.Context, req VersionChange) (domain.Plan, error) {
	if plan, done, err := before(ctx, p.kernel, AcceptPlan, req.Meta, req, p.object()); done || err != nil {
		return plan, err
	}
	plan, err := p.store.Plan(ctx, req.Plan)
	if err != nil {
		return plan, err
	}
	hash := plan.LatestHash
	switch {
	case req.Number != 0:
		v, err := p.store.VersionByNumber(ctx, plan.ID, req.Number)
		if err != nil {
			return plan, err
		}
		hash = v.Hash
	case plan.Stage != domain.StageDraft:
		return plan, nil
	}
	accept, err := p.acceptance(ctx, AcceptPlan, req.By, plan.ID, hash, req.Reason)
	if err != nil {
		return plan, err
	}
	return perform(ctx, p.kernel, AcceptPlan, req.Meta, req, p.object(), accept)
}
