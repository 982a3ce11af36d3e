package app

import (
	"context"
	"errors"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Drafts contains the operations on drafts of plans. Start stores a draft, and a worker in
// internal/draft plans it. No part of a draft runs before it is accepted.
type Drafts struct{ *kernel }

type draftStore interface {
	Draft(ctx context.Context, id string) (domain.Draft, error)
	DraftOfVersion(ctx context.Context, hash string) (domain.Draft, error)
	Drafts(ctx context.Context, all bool, limit int) ([]domain.Draft, error)
	DraftsFrom(ctx context.Context, parent string) ([]domain.Draft, error)
}

// List returns the newest drafts: the open ones, or all.
//
// Errors: forbidden.
func (d *Drafts) List(ctx context.Context, by domain.Actor, all bool, limit int) ([]domain.Draft, error) {
	if err := d.allow(ctx, ListDrafts, by, ""); err != nil {
		return nil, err
	}
	return d.store.Drafts(ctx, all, limit)
}

// Get returns one draft.
//
// Errors: not_found, forbidden.
func (d *Drafts) Get(ctx context.Context, by domain.Actor, id string) (domain.Draft, error) {
	if err := d.allow(ctx, GetDraft, by, ""); err != nil {
		return domain.Draft{}, err
	}
	draft, err := d.store.Draft(ctx, id)
	if err == nil {
		d.drafts.Read(draft)
	}
	return draft, err
}

// OfVersion returns the newest draft whose plan is a version.
//
// Errors: not_found, forbidden.
func (d *Drafts) OfVersion(ctx context.Context, by domain.Actor, hash string) (domain.Draft, error) {
	if err := d.allow(ctx, GetDraft, by, ""); err != nil {
		return domain.Draft{}, err
	}
	return d.store.DraftOfVersion(ctx, hash)
}

// Refinements returns the drafts that refine a draft, oldest first.
//
// Errors: forbidden.
func (d *Drafts) Refinements(ctx context.Context, by domain.Actor, parent string) ([]domain.Draft, error) {
	if err := d.allow(ctx, GetDraft, by, ""); err != nil {
		return nil, err
	}
	return d.store.DraftsFrom(ctx, parent)
}

// Planners returns the providers whose models can plan.
func (d *Drafts) Planners() []string { return d.drafts.Planner.Planners() }

func (d *Drafts) object() object[domain.Draft] {
	return object[domain.Draft]{id: func(d domain.Draft) string { return d.ID }, find: d.store.Draft}
}

// DraftStart is a request for a draft.
type DraftStart struct {
	Meta `json:"-"`
	domain.DraftRequest
}

// Start stores a draft; a worker then plans it.
//
// Errors: invalid, too_large, forbidden.
func (d *Drafts) Start(ctx context.Context, req DraftStart) (domain.Draft, error) {
	if known, done, err := before(ctx, d.kernel, StartDraft, req.Meta, req.DraftRequest, d.object()); done || err != nil {
		return known, err
	}
	draft, err := d.drafts.Prepare(req.By, req.DraftRequest)
	if err != nil {
		return domain.Draft{}, err
	}
	return d.begin(ctx, StartDraft, req.Meta, req.DraftRequest, draft)
}

// begin stores a draft and launches its planning.
func (d *Drafts) begin(ctx context.Context, op Operation, m Meta, request any, draft domain.Draft) (domain.Draft, error) {
	out, repeated, err := performWithWork(ctx, d.kernel, op, m, request, d.object(), func(tx *store.Tx) (domain.Draft, error) {
		return draft, tx.Drafts().Create(draft)
	})
	if err == nil && !repeated {
		d.drafts.Launch(draft)
	}
	return out, err
}

// DraftRefinement describes how a draft should differ from an earlier one.
type DraftRefinement struct {
	Meta  `json:"-"`
	Draft string
	domain.DraftRequest
}

// Refine starts another draft of the same request, with changes or with the model of another
// provider. The refined draft does not change.
//
// Errors: invalid, too_large, not_found, conflict (it is being planned), forbidden.
func (d *Drafts) Refine(ctx context.Context, req DraftRefinement) (domain.Draft, error) {
	request := []any{req.Draft, req.DraftRequest}
	if known, done, err := before(ctx, d.kernel, RefineDraft, req.Meta, request, d.object()); done || err != nil {
		return known, err
	}
	from, err := d.store.Draft(ctx, req.Draft)
	if err != nil {
		return domain.Draft{}, err
	}
	draft, err := d.drafts.Refined(req.By, from, req.DraftRequest)
	if err != nil {
		return domain.Draft{}, err
	}
	return d.begin(ctx, RefineDraft, req.Meta, request, draft)
}

// DraftChange identifies a draft.
type DraftChange struct {
	Meta   `json:"-"`
	Draft  string
	Reason string // kept in the audit log
}

// Discard discards a draft, and ends its planning. Its plan is archived, unless it is in use. A
// discarded draft is returned unchanged.
//
// Errors: not_found, conflict (it was accepted), forbidden.
func (d *Drafts) Discard(ctx context.Context, req DraftChange) (domain.Draft, error) {
	at := d.now()
	out, repeated, err := performWithWork(ctx, d.kernel, DiscardDraft, req.Meta, req, d.object(), func(tx *store.Tx) (domain.Draft, error) {
		draft, err := tx.Drafts().Get(req.Draft)
		switch {
		case err != nil || draft.State == domain.DraftDiscarded:
			return draft, err
		case draft.State == domain.DraftAccepted:
			return draft, domain.Errorf(domain.CodeConflict, "the draft was accepted: archive the plan %s instead", draft.Plan.Key)
		case draft.State == domain.DraftReady:
			plan, err := unused(tx, draft)
			if err != nil {
				return draft, err
			}
			if plan != nil {
				// A principal who may start a draft may archive its plan, because nothing else uses
				// it.
				tx.Record("plan.archive", "plan:"+plan.Key, "the draft was discarded", changed("archived", false, true))
				if err := tx.ArchivePlan(plan.ID, at); err != nil {
					return draft, err
				}
			}
		}
		draft, _, err = tx.Drafts().Decide(draft.ID, domain.DraftDiscarded, nil, req.Reason)
		return draft, err
	})
	if err == nil && !repeated {
		d.drafts.Cancel(req.Draft)
	}
	return out, err
}

// unused returns the plan of a draft if only this draft uses it, and nil otherwise.
func unused(tx *store.Tx, draft domain.Draft) (*domain.Plan, error) {
	plan, err := tx.Plan(draft.Plan.Key)
	if err != nil {
		return nil, err
	}
	newest, err := tx.Drafts().OfVersion(draft.Hash)
	if err != nil {
		return nil, err
	}
	if plan.Stage != domain.StageDraft || plan.Archived || plan.LatestHash != draft.Hash || newest.ID != draft.ID && newest.State.Open() {
		return nil, nil
	}
	return &plan, nil
}

// acceptance returns a function that makes a version the current one of its plan. It returns an
// error if the principal may not do that.
func (k *kernel) acceptance(
	ctx context.Context,
	op Operation,
	by domain.Actor,
	plan, hash, reason string,
) (func(tx *store.Tx) (domain.Plan, error), error) {
	p, r, err := k.engine.Acceptance(ctx, by, plan, hash, reason)
	if err != nil {
		return nil, k.permit(ctx, op, by, "plan:"+p.Key, err)
	}
	return func(tx *store.Tx) (domain.Plan, error) {
		var err error
		if r == nil {
			err = tx.AcceptPlan(p.ID, reason)
		} else {
			err = tx.RestoreVersion(*r)
		}
		stored, planErr := tx.Plan(p.ID)
		return stored, errors.Join(err, planErr)
	}, nil
}
