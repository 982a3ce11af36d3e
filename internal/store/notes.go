package store

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// AddNote keeps what a person wrote about a run, in the audit log too. CodeInvalid
// for a text that CheckNote refuses, CodeConflict when the run has MaxNotes.
func (s *Store) AddNote(ctx context.Context, actor domain.Actor, run, text string) (domain.Note, error) {
	text, err := domain.CheckNote(text)
	if err != nil {
		return domain.Note{}, err
	}
	if s.writer == nil {
		return domain.Note{}, errReadOnly()
	}
	found, err := s.FindRun(ctx, run)
	if err != nil {
		return domain.Note{}, err
	}
	n := domain.Note{Run: found.ID, PlanKey: found.PlanKey, Actor: actor.Name, Text: text}
	err = s.writer.perform(func(w *writer) ([]auditRow, error) {
		at := w.s.now().UnixMicro()
		row, err := w.q.RunRowID(w.ctx, found.ID)
		if err != nil {
			return nil, err
		}
		if have, err := w.q.NoteCount(w.ctx, row.ID); err != nil {
			return nil, err
		} else if have >= domain.MaxNotes {
			return nil, domain.Errorf(domain.CodeConflict, "run %s has %d notes, which is all that are kept", domain.ShortID(found.ID), have)
		}
		n.At = fromMicros(at)
		n.ID, err = w.q.NoteInsert(w.ctx, dbsqlc.NoteInsertParams{RunID: row.ID, Actor: actor.Name, Text: text, At: at})
		return []auditRow{{rowID: row.ID, record: domain.AuditRecord{Action: "run.note", Actor: actor.Name, Surface: actor.Surface, Request: actor.Request,
			Run: found.ID, Reason: text}}}, err
	})
	return n, translate(err, "keep a note of run "+found.ID)
}
