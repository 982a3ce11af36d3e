package app

import (
	"cmp"
	"context"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// DraftAcceptance accepts a draft.
type DraftAcceptance struct {
	Meta  `json:"-"`
	Draft string
	domain.DraftAcceptance
}

// Accept accepts the plan of a draft, or an alternative of it. If the draft changes a plan in use,
// its version becomes the current one. An accepted draft is returned unchanged.
//
// Errors: not_found, conflict (there is nothing to accept, or it was accepted in another form),
// stale (the current version of the plan has changed), forbidden.
func (d *Drafts) Accept(ctx context.Context, req DraftAcceptance) (domain.Draft, error) {
	request := []any{req.Draft, req.DraftAcceptance}
	if known, done, err := before(ctx, d.kernel, AcceptDraft, req.Meta, request, d.object()); done || err != nil {
		return known, err
	}
	draft, err := d.store.Draft(ctx, req.Draft)
	if err != nil {
		return draft, err
	}
	if draft.State != domain.DraftReady {
		return draft, acceptable(draft, req.Alternative)
	}
	plan, hash := draft.Plan.Key, draft.Hash
	var chosen *domain.DraftOutcome
	if req.Alternative != "" {
		p, err := d.alternative(ctx, req.By, draft.Hash, req.Alternative, draft.Constraints.ApproveUnsafe)
		if err != nil {
			return draft, err
		}
		plan, hash = p.ID, p.Hash
		outcome := draft.DraftOutcome
		chosen = &outcome
		chosen.Alternative, chosen.Plan.Version, chosen.Hash = req.Alternative, p.Version, p.Hash
		chosen.Steps, chosen.Unsafe = p.Steps, p.Unsafe
	}
	accept, err := d.acceptance(ctx, AcceptDraft, req.By, plan, hash, req.Reason)
	if err != nil {
		return draft, err
	}
	accepted, err := perform(ctx, d.kernel, AcceptDraft, req.Meta, request, d.object(), func(tx *store.Tx) (domain.Draft, error) {
		decided, moved, err := tx.Drafts().Decide(draft.ID, domain.DraftAccepted, chosen, req.Reason)
		if err != nil {
			return decided, err
		}
		if !moved { // another request has decided in the meantime
			return decided, acceptable(decided, req.Alternative)
		}
		_, err = accept(tx)
		return decided, err
	})
	if err != nil {
		return draft, err
	}
	return accepted, nil
}

// acceptable returns an error if a draft is not ready. A draft that was accepted in the same form
// is acceptable.
func acceptable(draft domain.Draft, alternative string) error {
	switch {
	case draft.State != domain.DraftAccepted:
		return domain.Errorf(domain.CodeConflict, "the draft is %s: there is nothing to accept", draft.State)
	case alternative != "" && alternative != draft.Alternative:
		return domain.Errorf(domain.CodeConflict, "the draft was accepted in another form").Suggest("refine the draft to plan it again")
	}
	return nil
}

// alternative stores an alternative of a version. Repeated calls return the same version.
func (d *Drafts) alternative(ctx context.Context, by domain.Actor, hash, kind string, askFirst bool) (domain.PlannerPlan, error) {
	v, err := d.store.VersionByHash(ctx, hash)
	if err != nil {
		return domain.PlannerPlan{}, err
	}
	return d.planner.Alternative(ctx, by, v, kind, askFirst)
}

// AlternativeAcceptance accepts an alternative of a version without a draft.
type AlternativeAcceptance struct {
	Meta `json:"-"`
	Hash string
	domain.DraftAcceptance
}

// AcceptAlternative accepts an alternative of a version that a program requested, and that has no
// draft.
//
// Errors: invalid (there is no such alternative), not_found, conflict, stale, forbidden.
func (d *Drafts) AcceptAlternative(ctx context.Context, req AlternativeAcceptance) (domain.Plan, error) {
	request := []any{req.Hash, req.DraftAcceptance}
	plan := object[domain.Plan]{id: func(p domain.Plan) string { return p.ID }, find: d.store.Plan}
	if known, done, err := before(ctx, d.kernel, AcceptPlan, req.Meta, request, plan); done || err != nil {
		return known, err
	}
	p, err := d.alternative(ctx, req.By, req.Hash, req.Alternative, false)
	if err != nil {
		return domain.Plan{}, err
	}
	accept, err := d.acceptance(ctx, AcceptPlan, req.By, p.ID, p.Hash, req.Reason)
	if err != nil {
		return domain.Plan{}, err
	}
	return perform(ctx, d.kernel, AcceptPlan, req.Meta, request, plan, accept)
}

// DraftRun starts a run of the plan of a draft.
type DraftRun struct {
	Meta  `json:"-"`
	Draft string
	domain.DraftStart
}

// Run starts a run with the plan of a draft, the request as input, and its constraints as limits.
// This accepts the draft. If the draft changes a plan in use, it replaces the current version only
// if the request sets that.
//
// Errors: not_found, conflict (there is nothing to start, or the draft must be accepted first),
// forbidden, unavailable.
func (d *Drafts) Run(ctx context.Context, req DraftRun) (domain.Run, error) {
	request := []any{req.Draft, req.DraftStart}
	start := func(ctx context.Context, receipt *domain.Receipt) (domain.Run, error) {
		return d.run(ctx, req, receipt)
	}
	return command(ctx, d.kernel, StartDrafted, req.Meta, request, d.store.FindRun, start)
}

func (d *Drafts) run(ctx context.Context, req DraftRun, receipt *domain.Receipt) (domain.Run, error) {
	draft, err := d.store.Draft(ctx, req.Draft)
	if err != nil {
		return domain.Run{}, err
	}
	if err := startable(draft, req.DraftStart.Accept); err != nil {
		return domain.Run{}, err
	}
	plan, err := d.store.Plan(ctx, draft.Plan.Key)
	if err != nil {
		return domain.Run{}, err
	}
	apart := plan.Stage == domain.StageUsed && plan.LatestHash != draft.Hash
	if draft.State == domain.DraftReady && (!apart || req.DraftStart.Accept) {
		accept := DraftAcceptance{
			Meta:            Meta{By: req.By},
			Draft:           draft.ID,
			DraftAcceptance: domain.DraftAcceptance{Reason: cmp.Or(req.Reason, "a run of it was started")},
		}
		if _, err := d.Accept(ctx, accept); err != nil {
			return domain.Run{}, err
		}
	}
	query := draft.Query
	if id, text, ok := d.planner.Directed(query); ok && draft.Direct == id {
		query = text
	}
	input, err := jsonvalue.Encode(query)
	if err != nil {
		return domain.Run{}, domain.Errorf(domain.CodeInvalid, "the request: %w", err)
	}
	c := draft.Constraints
	return d.engine.Start(
		ctx,
		req.By,
		domain.StartRequest{Plan: plan.ID, Hash: draft.Hash, Input: input, Session: req.Session, Origin: "ask", Receipt: receipt,
			Priority: planner.RunPriority(c.Priority), Limits: domain.Limits{MaxDuration: c.TimeLimit(), MaxTokens: int64(c.Budget)}},
	)
}

// startable returns an error for a draft without a plan, or one that must be accepted before a run.
func startable(draft domain.Draft, accept bool) error {
	switch draft.State {
	case domain.DraftFailed:
		return domain.Errorf(domain.CodeConflict, "the draft has no plan")
	case domain.DraftPlanning:
		return domain.Errorf(domain.CodeConflict, "planning of the draft is not finished").Suggest("wait until it is done")
	case domain.DraftDiscarded:
		return domain.Errorf(domain.CodeConflict, "the draft was discarded")
	}
	if draft.State == domain.DraftReady && draft.Direct == "" && len(draft.Unsafe) > 0 && !accept {
		return domain.Errorf(domain.CodeConflict, "%s cannot be repeated; the draft must be accepted first",
			strings.Join(draft.Unsafe, ", ")).
			Suggest("read the plan, then accept the draft")
	}
	return nil
}
