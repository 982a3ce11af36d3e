package store

import (
	"database/sql"
	"errors"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// Tx is the transaction of one operation. It reads the current state, and its writes commit with
// the operation.
type Tx struct {
	w       *writer
	op      Operation
	records []auditRow
	// access is set once the operation changes users, tokens, or second factors.
	access *accessBefore
	// then are updates of the writer's memory if the operation is not rolled back
	then []func()
}

// settle applies the changes of the operation to the writer's memory. A later error rolls back the
// whole transaction, and the writer then discards that memory.
func (tx *Tx) settle() {
	for _, f := range tx.then {
		f()
	}
}

func (tx *Tx) audit(action string, row auditRow) {
	row.record.Action, row.record.Actor, row.record.Source, row.record.Request = action, tx.op.By.Name, tx.op.By.Source, tx.op.By.Request
	tx.records = append(tx.records, row)
}

// Audit records the operation's action on an object ("plan:refund").
func (tx *Tx) Audit(object, reason string, detail domain.RawJSON) {
	tx.audit(tx.op.Action, auditRow{record: domain.AuditRecord{Object: object, Reason: reason, Detail: detail}})
}

// Record adds a record of another action of the operation.
func (tx *Tx) Record(action, object, reason string, detail domain.RawJSON) {
	tx.audit(action, auditRow{record: domain.AuditRecord{Object: object, Reason: reason, Detail: detail}})
}

// Plan finds a plan by ID or key, including archived plans. It returns CodeNotFound.
func (tx *Tx) Plan(idOrKey string) (domain.Plan, error) {
	row, err := core.PlanRow(tx.w.ctx, tx.w.q, idOrKey)
	return core.Plan(row), err
}

// PausePlan stores who paused a plan, when, and why. Nil ends the pause.
func (tx *Tx) PausePlan(planID string, p *domain.Disablement) error {
	if p == nil {
		p = &domain.Disablement{}
	}
	return tx.w.q.PlanPause(
		tx.w.ctx,
		dbsqlc.PlanPauseParams{PausedAt: core.Micros(p.Since), PausedBy: p.By, PausedReason: p.Reason, PublicID: planID},
	)
}

// ArchivePlan stores when a plan was archived. The zero time unarchives it.
func (tx *Tx) ArchivePlan(planID string, at time.Time) error {
	return tx.w.q.PlanArchive(tx.w.ctx, core.Micros(at), planID)
}

// AddNote stores a note about a run with its audit record ("run.note"). It returns CodeNotFound, or
// CodeConflict if the run has domain.MaxNotes.
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

// SetSetting stores a value under a key.
func (tx *Tx) SetSetting(key, value string) error { return tx.w.q.SettingPut(tx.w.ctx, key, value) }

// SetPreference stores a person's preference.
func (tx *Tx) SetPreference(owner, key, value string) error {
	return tx.w.q.PreferencePut(tx.w.ctx, owner, key, value)
}

// SaveView stores a view. It replaces a view with the same name.
func (tx *Tx) SaveView(v domain.SavedView) error {
	return tx.w.q.SavedViewPut(
		tx.w.ctx,
		dbsqlc.SavedViewPutParams{Owner: v.Owner, Name: v.Name, Query: v.Query, CreatedAt: core.Micros(tx.op.At)},
	)
}

// DeleteView deletes a view, and returns it. It returns CodeNotFound.
func (tx *Tx) DeleteView(owner, name string) (domain.SavedView, error) {
	v := domain.SavedView{Owner: owner, Name: name}
	var err error
	if v.Query, err = tx.w.q.SavedViewDelete(tx.w.ctx, owner, name); errors.Is(err, sql.ErrNoRows) {
		return v, domain.Errorf(domain.CodeNotFound, "view %q not found", name)
	}
	return v, err
}
