package store

import (
	"database/sql"
	"errors"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// Tx is the transaction of one operation: it reads what is stored now and writes what
// commits with the operation.
type Tx struct {
	w    *writer
	op   Operation
	said []auditRow
	// access is set once the operation changes users, tokens, or second factors.
	access *accessBefore
	// then are what the writer must know when the operation is not undone.
	then []func()
}

// settle tells the writer what the operation changed of what it keeps in memory. An
// error after it undoes the whole transaction, and then the writer forgets all of that.
func (tx *Tx) settle() {
	for _, f := range tx.then {
		f()
	}
}

func (tx *Tx) audit(action string, row auditRow) {
	row.record.Action, row.record.Actor, row.record.Surface, row.record.Request = action, tx.op.By.Name, tx.op.By.Surface, tx.op.By.Request
	tx.said = append(tx.said, row)
}

// Audit records that the operation did something to an object ("plan:refund").
func (tx *Tx) Audit(object, reason string, detail domain.RawJSON) {
	tx.audit(tx.op.Action, auditRow{record: domain.AuditRecord{Object: object, Reason: reason, Detail: detail}})
}

// Record adds a record of an action that the operation carries out besides its own.
func (tx *Tx) Record(action, object, reason string, detail domain.RawJSON) {
	tx.audit(action, auditRow{record: domain.AuditRecord{Object: object, Reason: reason, Detail: detail}})
}

// Plan finds a plan by id or key, archived ones included; CodeNotFound.
func (tx *Tx) Plan(idOrKey string) (domain.Plan, error) {
	row, err := core.PlanRow(tx.w.ctx, tx.w.q, idOrKey)
	return core.Plan(row), err
}

// PausePlan writes who pauses a plan, since when, and why; nil ends the pause.
func (tx *Tx) PausePlan(planID string, p *domain.Stop) error {
	if p == nil {
		p = &domain.Stop{}
	}
	return tx.w.q.PlanPause(
		tx.w.ctx,
		dbsqlc.PlanPauseParams{PausedAt: core.Micros(p.Since), PausedBy: p.By, PausedReason: p.Reason, PublicID: planID},
	)
}

// ArchivePlan writes since when a plan is archived; the zero time: it is not.
func (tx *Tx) ArchivePlan(planID string, at time.Time) error {
	return tx.w.q.PlanArchive(tx.w.ctx, core.Micros(at), planID)
}

// AddNote keeps a note about a run, with its audit record ("run.note"). CodeNotFound;
// CodeConflict when the run has domain.MaxNotes.
func (tx *Tx) AddNote(run, text string) (domain.Note, error) {
	w := tx.w
	row, err := w.q.RunRowID(w.ctx, run)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Note{}, domain.Errorf(domain.CodeNotFound, "run %s not found", run)
	} else if err != nil {
		return domain.Note{}, err
	}
	if have, err := w.q.NoteCount(w.ctx, row.ID); err != nil {
		return domain.Note{}, err
	} else if have >= domain.MaxNotes {
		return domain.Note{}, domain.Errorf(domain.CodeConflict, "run %s has %d notes, the maximum", domain.ShortID(run), have)
	}
	n := domain.Note{Run: run, Actor: tx.op.By.Name, Text: text, At: tx.op.At}
	n.ID, err = w.q.NoteInsert(w.ctx, dbsqlc.NoteInsertParams{RunID: row.ID, Actor: n.Actor, Text: text, At: core.Micros(n.At)})
	tx.audit("run.note", auditRow{rowID: row.ID, record: domain.AuditRecord{Run: run, Reason: text}})
	return n, err
}

// SetSetting keeps a value under a key.
func (tx *Tx) SetSetting(key, value string) error { return tx.w.q.SettingPut(tx.w.ctx, key, value) }

// SetPreference keeps what a person chose.
func (tx *Tx) SetPreference(owner, key, value string) error {
	return tx.w.q.PreferencePut(tx.w.ctx, owner, key, value)
}

// SaveView keeps a view in place of one with its name.
func (tx *Tx) SaveView(v domain.SavedView) error {
	return tx.w.q.SavedViewPut(
		tx.w.ctx,
		dbsqlc.SavedViewPutParams{Owner: v.Owner, Name: v.Name, Query: v.Query, CreatedAt: core.Micros(tx.op.At)},
	)
}

// DeleteView removes a view; CodeNotFound.
func (tx *Tx) DeleteView(owner, name string) error {
	n, err := tx.w.q.SavedViewDelete(tx.w.ctx, owner, name)
	if err == nil && n == 0 {
		return domain.Errorf(domain.CodeNotFound, "view %q not found", name)
	}
	return err
}
