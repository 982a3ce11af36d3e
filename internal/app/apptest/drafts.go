package apptest

import (
	"context"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/draft"
)

// Drafts contains the operations on drafts and their worker, for tests that concern neither
// requests nor their keys.
type Drafts struct {
	*draft.Service
	Of *app.Drafts
}

// DraftsOn returns the operations of an App with another service.
func DraftsOn(c app.Config, s *draft.Service) Drafts {
	c.Drafts = s
	return Drafts{Service: s, Of: app.New(c).Drafts}
}

// Start starts a draft.
func (d Drafts) Start(ctx context.Context, who domain.Actor, r domain.DraftRequest) (domain.Draft, error) {
	return d.Of.Start(ctx, app.DraftStart{Meta: by(who), DraftRequest: r})
}

// Refine refines a draft.
func (d Drafts) Refine(ctx context.Context, who domain.Actor, id string, r domain.DraftRequest) (domain.Draft, error) {
	return d.Of.Refine(ctx, app.DraftRefinement{Meta: by(who), Draft: id, DraftRequest: r})
}

// Accept accepts a draft.
func (d Drafts) Accept(ctx context.Context, who domain.Actor, id string, a domain.DraftAcceptance) (domain.Draft, error) {
	return d.Of.Accept(ctx, app.DraftAcceptance{Meta: by(who), Draft: id, DraftAcceptance: a})
}

// AcceptAlternative accepts an alternative of a version without a draft.
func (d Drafts) AcceptAlternative(ctx context.Context, who domain.Actor, hash string, a domain.DraftAcceptance) (domain.Plan, error) {
	return d.Of.AcceptAlternative(ctx, app.AlternativeAcceptance{Meta: by(who), Hash: hash, DraftAcceptance: a})
}

// Discard discards a draft.
func (d Drafts) Discard(ctx context.Context, who domain.Actor, id, reason string) (domain.Draft, error) {
	return d.Of.Discard(ctx, app.DraftChange{Meta: by(who), Draft: id, Reason: reason})
}

// Run starts a run of a draft.
func (d Drafts) Run(ctx context.Context, who domain.Actor, id string, r domain.DraftStart) (domain.Run, error) {
	return d.Of.Run(ctx, app.DraftRun{Meta: by(who), Draft: id, DraftStart: r})
}

// Draft finds a draft.
func (d Drafts) Draft(ctx context.Context, id string) (domain.Draft, error) {
	return d.Of.Get(ctx, Admin, id)
}
