package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// CheckPlan validates a document against this installation without storing it.
func (e *Engine) CheckPlan(src []byte, f planner.Format) (*planner.Document, planner.Problems) {
	return checkPlan(e.current().Registry.Catalog(), src, f)
}

func checkPlan(catalog *planner.Catalog, src []byte, f planner.Format) (*planner.Document, planner.Problems) {
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
func (e *Engine) SavePlan(ctx context.Context, actor domain.Actor, src []byte, f planner.Format, origin, reason string) (domain.Plan, domain.Version, bool, planner.Problems, error) {
	return e.SavePlanOver(ctx, actor, src, f, origin, reason, "")
}

// SavePlanOver is SavePlan for a document that was made from a version: when the
// plan has another newest version by now, nothing is stored (CodeStale). An empty
// base is any.
func (e *Engine) SavePlanOver(ctx context.Context, actor domain.Actor, src []byte, f planner.Format, origin, reason, base string) (domain.Plan, domain.Version, bool, planner.Problems, error) {
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

// NewPlan is a document that can be stored: Base, Reason, and the author are left to
// the caller.
type NewPlan struct {
	domain.NewVersion
	doc     *planner.Document
	program *walk.Program
	in      *setup
}

// By is the version to store for an author.
func (p NewPlan) By(author string) domain.NewVersion {
	v := p.NewVersion
	v.Author, v.Facts = author, factsOf(p.program, v.Canonical, author)
	return v
}

// ReadPlan parses and validates a document that is to be stored. Problems are returned
// also when it can be (warnings); with errors the error is CodeInvalid.
func (e *Engine) ReadPlan(src []byte, f planner.Format, origin string) (NewPlan, planner.Problems, error) {
	in := e.current()
	doc, problems := checkPlan(in.Registry.Catalog(), src, f)
	if err := problems.Err(); err != nil {
		return NewPlan{}, problems, domain.Errorf(domain.CodeInvalid, "the plan is not valid: %w", err)
	}
	v := domain.NewVersion{Key: doc.ID, Hash: doc.Hash, Kind: string(doc.Kind()), Format: string(doc.Format), Origin: origin,
		Semantics: walk.Semantics, Source: doc.Source, Canonical: doc.Canonical(), ByPerson: origin != originPlanner && origin != "replan"}
	if doc.Graph != nil {
		v.Name, v.Description = doc.Graph.Name, doc.Graph.Description
	} else {
		v.Name, v.Description = doc.Steps.Name, doc.Steps.Description
	}
	program, err := doc.Program(in.Registry.Catalog())
	if err != nil {
		return NewPlan{}, problems, domain.Errorf(domain.CodeInvalid, "the plan is not valid: %w", err)
	}
	return NewPlan{v, doc, program, in}, problems, nil
}

// KeepPlan takes up a plan that was stored just now: its first run need not wait for it
// to be read and compiled again. Do not call it for known content: what was stored
// before may be another document of the same hash.
func (e *Engine) KeepPlan(p NewPlan, stored domain.Version) {
	if compiled, err := p.doc.Program(p.in.Registry.Catalog()); err == nil {
		p.in.keepProgram(compiled, stored)
	}
}

// NewestVersion finds a plan by key or id, archived ones included, with its newest
// version; CodeNotFound.
func (e *Engine) NewestVersion(ctx context.Context, plan string) (domain.Plan, domain.Version, error) {
	p, err := e.store.Plan(ctx, plan)
	if err != nil {
		return p, domain.Version{}, err
	}
	v, err := e.store.VersionByHash(ctx, p.LatestHash)
	return p, v, err
}

// ProposedVersion finds the newest version that a planner made after a plan's current
// one, which nobody has accepted; CodeNotFound.
func (e *Engine) ProposedVersion(ctx context.Context, plan string) (domain.Plan, domain.Version, error) {
	p, err := e.store.Plan(ctx, plan)
	if err != nil {
		return p, domain.Version{}, err
	}
	var found domain.Version
	for n := p.Latest + 1; ; n++ {
		v, err := e.store.VersionByNumber(ctx, p.ID, n)
		switch {
		case domain.CodeOf(err) == domain.CodeNotFound && found.Hash != "":
			return p, found, nil
		case err != nil:
			return p, found, err
		case v.Origin == originPlanner:
			found = v
		}
	}
}

// whilePaused refuses to start a run of a plan that somebody has paused.
func whilePaused(p domain.Plan) error {
	if p.Paused == nil {
		return nil
	}
	err := domain.Errorf(domain.CodeConflict, "plan %s is paused since %s by %s", p.Key, p.Paused.Since.Format(time.DateTime), p.Paused.By).Suggest("unpause it, or start it later")
	if p.Paused.Reason != "" {
		err.Message += ": " + p.Paused.Reason
	}
	err.Reason = "plan_paused"
	return err
}

// originTry marks versions that are there for one run by hand.
const originTry = "try"

// TryPlan starts a dry run of a document that is not saved: it is kept under a key
// of its own, and no plan has another version for it. Problems are
// returned also when it runs; with errors the error is CodeInvalid.
func (e *Engine) TryPlan(ctx context.Context, actor domain.Actor, src []byte, f planner.Format, input domain.RawJSON) (domain.Run, planner.Problems, error) {
	doc, problems := e.CheckPlan(src, f)
	if err := problems.Err(); err != nil {
		return domain.Run{}, problems, domain.Errorf(domain.CodeInvalid, "the plan is not valid: %w", err)
	}
	tried, err := withKey(doc, draftKey(doc.ID))
	if err != nil {
		return domain.Run{}, problems, domain.Errorf(domain.CodeInvalid, "the plan: %w", err)
	}
	p, v, _, _, err := e.SavePlan(ctx, actor, tried, planner.FormatJSON, originTry, "tried without saving")
	if err != nil {
		return domain.Run{}, problems, err
	}
	run, err := e.Start(ctx, actor, domain.StartRequest{Plan: p.ID, Hash: v.Hash, Input: input, Labels: dryLabel, Dry: true})
	return run, problems, err
}

// Restored is what making a version the current one of its plan writes; Base is left to
// the caller.
func (e *Engine) Restored(ctx context.Context, v domain.Version, reason string) (domain.RestoredVersion, error) {
	prog, err := e.program(ctx, v.Hash)
	if err != nil {
		return domain.RestoredVersion{}, err
	}
	return domain.RestoredVersion{PlanID: v.PlanID, Hash: v.Hash, Name: prog.Name, Description: prog.Description,
		Reason: reason, Facts: factsOf(prog.Program, v.Canonical, v.Author)}, nil
}

// AcceptVersion takes a version that a planner made into use: from now on it is the
// plan's current one. Of a version that is, nothing changes. CodeConflict if a person
// made it, CodeForbidden where it would take the place of one that a person wrote and
// the actor writes no plans.
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

// Acceptance is what taking a version into use writes; nil: that the plan, whose current
// version it is, is no draft any more. See AcceptVersion for the errors.
func (e *Engine) Acceptance(ctx context.Context, actor domain.Actor, plan, hash, reason string) (domain.Plan, *domain.RestoredVersion, error) {
	p, err := e.store.Plan(ctx, plan)
	if err != nil {
		return p, nil, err
	}
	v, err := e.store.VersionByHash(ctx, hash)
	if err != nil {
		return p, nil, err
	}
	switch current := v.Hash == p.LatestHash; {
	case v.PlanID != p.ID:
		return p, nil, domain.Errorf(domain.CodeNotFound, "plan %s has no such version", p.Key)
	case current && p.Stage != domain.StageDraft:
		return p, nil, nil
	case p.Archived:
		return p, nil, domain.Errorf(domain.CodeConflict, "the plan %s is archived", p.Key)
	case current:
		return p, nil, nil
	case v.Origin != originPlanner:
		return p, nil, domain.Errorf(domain.CodeConflict, "v%d of %s is no draft", v.Number, p.Key).Suggest("an author can make it current again: restore it")
	}
	if p.Stage != domain.StageDraft {
		old, err := e.store.VersionByHash(ctx, p.LatestHash)
		if err != nil {
			return p, nil, err
		}
		if err := domain.CheckReplaces(actor, old); err != nil {
			return p, nil, err
		}
	}
	r, err := e.accepted(ctx, p, v, reason)
	return p, &r, err
}

// accepted is what making a planner's version the current one of its plan writes.
func (e *Engine) accepted(ctx context.Context, p domain.Plan, v domain.Version, reason string) (domain.RestoredVersion, error) {
	r, err := e.Restored(ctx, v, reason)
	r.Base, r.Accepts = p.LatestHash, true
	return r, err
}

// outgrowDraft takes a draft into use whose version is started: nobody starts what
// they have not accepted.
func (e *Engine) outgrowDraft(ctx context.Context, actor domain.Actor, p *runstate.Compiled) error {
	if p.Version.Origin != originPlanner {
		return nil
	}
	plan, err := e.store.Plan(ctx, p.Version.PlanID)
	if err != nil || plan.Stage != domain.StageDraft {
		return err
	}
	const reason = "a run of it was started"
	if plan.LatestHash == p.Version.Hash {
		_, err = e.store.AcceptPlan(ctx, plan.ID, actor, reason)
		return err
	}
	r, err := e.accepted(ctx, plan, p.Version, reason)
	if err == nil {
		_, err = e.store.RestoreVersion(ctx, r, actor)
	}
	return err
}

// originPlanner marks versions that a planner made.
const originPlanner = "planner"

// factsOf are what a plan is found by: what its nodes name, its owner by its
// metadata or else its author, and the rest of its metadata as labels.
func factsOf(p *walk.Program, canonical []byte, author string) []domain.PlanFact {
	seen := map[domain.PlanFact]bool{}
	var out []domain.PlanFact
	add := func(kind, value string) {
		f := domain.PlanFact{Kind: kind, Value: value}
		if value != "" && !seen[f] {
			seen[f] = true
			out = append(out, f)
		}
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		add(domain.FactTool, n.Tool)
		add(domain.FactAgent, n.Agent)
		if n.Input != nil {
			for _, ref := range n.Input.References() {
				add(domain.FactSecret, ref.Secret())
			}
		}
	}
	owner := author
	var metadata map[string]any
	if doc, err := jsonvalue.Decode(canonical); err == nil { // a document that is stored can be read
		m, _ := doc.(map[string]any)
		metadata, _ = m["metadata"].(map[string]any)
	}
	for _, k := range slices.Sorted(maps.Keys(metadata)) {
		switch v := metadata[k].(type) {
		case map[string]any, []any, nil:
		default:
			if k == "owner" {
				owner = jsonvalue.Text(v)
			} else if len(out) < maxFacts {
				add(domain.FactLabel, k+"="+jsonvalue.Text(v))
			}
		}
	}
	add(domain.FactOwner, owner)
	return out
}

// maxFacts bounds what a plan is found by.
const maxFacts = 1000
