package store

import (
	"context"
	"time"

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

// Notes gives what people wrote about a run, in order.
func (s *Store) Notes(ctx context.Context, run string) ([]domain.Note, error) {
	rows, err := s.q.NoteList(ctx, run, domain.MaxNotes)
	if err != nil {
		return nil, translate(err, "read notes")
	}
	out := make([]domain.Note, len(rows))
	for i, r := range rows {
		out[i] = domain.Note{ID: r.ID, Run: run, Actor: r.Actor, Text: r.Text, At: fromMicros(r.At)}
	}
	return out, nil
}

// RecentNotes gives what people wrote about any run since a time, the newest
// first, at most limit.
func (s *Store) RecentNotes(ctx context.Context, since time.Time, limit int) ([]domain.Note, error) {
	rows, err := s.q.NoteRecent(ctx, micros(since), int64(limit))
	if err != nil {
		return nil, translate(err, "read notes")
	}
	out := make([]domain.Note, len(rows))
	for i, r := range rows {
		out[i] = domain.Note{ID: r.ID, Run: r.Run, PlanKey: r.Key, Actor: r.Actor, Text: r.Text, At: fromMicros(r.At)}
	}
	return out, nil
}
