package store

import (
	"database/sql"
	"errors"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// DraftTx reads and writes drafts in a transaction.
type DraftTx struct{ tx *Tx }

// Drafts returns the drafts of the transaction.
func (tx *Tx) Drafts() DraftTx { return DraftTx{tx} }

// Get finds a draft. It returns CodeNotFound.
func (d DraftTx) Get(id string) (domain.Draft, error) {
	row, err := d.tx.w.q.DraftGet(d.tx.w.ctx, id)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Draft{}, domain.Errorf(domain.CodeNotFound, "draft %q not found", id)
	} else if err != nil {
		return domain.Draft{}, err
	}
	return core.Draft(row)
}

// OfVersion finds the newest draft whose plan is this version. It returns CodeNotFound.
func (d DraftTx) OfVersion(hash string) (domain.Draft, error) {
	row, err := d.tx.w.q.DraftByVersion(d.tx.w.ctx, hash)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Draft{}, domain.Errorf(domain.CodeNotFound, "draft of version %q not found", hash)
	} else if err != nil {
		return domain.Draft{}, err
	}
	return core.Draft(row)
}

// Create stores a draft to be planned ("draft.begin").
func (d DraftTx) Create(draft domain.Draft) error {
	d.tx.audit("draft.begin", auditRow{record: draftRecord(draft, "")})
	return d.tx.w.q.DraftInsert(d.tx.w.ctx, dbsqlc.DraftInsertParams{PublicID: draft.ID, Request: core.EncodeJSON(draft.DraftRequest),
		Actor: draft.Actor, Role: string(draft.Role), Source: draft.Source, Parent: draft.Parent,
		Revision: int64(draft.Revision), CreatedAt: core.Micros(draft.CreatedAt)})
}

// Decide accepts a draft ("draft.accept") or discards it ("draft.discard"). If it was decided
// before, it does not change, and moved is false. A chosen alternative replaces the proposed plan.
func (d DraftTx) Decide(id string, state domain.DraftState, chosen *domain.DraftOutcome, reason string) (draft domain.Draft, moved bool,
	err error) {
	action := map[domain.DraftState]string{domain.DraftAccepted: "draft.accept", domain.DraftDiscarded: "draft.discard"}[state]
	if action == "" {
		return draft, false, domain.Errorf(domain.CodeInvalid, "a draft cannot be made %s", state)
	}
	n, err := d.tx.w.q.DraftDecide(d.tx.w.ctx, string(state), id)
	if err != nil {
		return draft, false, err
	}
	if draft, err = d.Get(id); err != nil || n == 0 {
		return draft, false, err
	}
	if chosen != nil {
		draft.DraftOutcome = *chosen
		if err := d.tx.w.q.DraftChoose(d.tx.w.ctx, core.EncodeJSON(chosen), chosen.Hash, id); err != nil {
			return draft, false, err
		}
	}
	d.tx.audit(action, auditRow{record: draftRecord(draft, reason)})
	return draft, true, nil
}
