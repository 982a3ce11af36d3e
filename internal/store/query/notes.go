package query

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// Notes returns the notes of a run, in order.
func (s *SummaryReader) Notes(ctx context.Context, run string) ([]domain.Note, error) {
	rows, err := s.db.Q.NoteList(ctx, run, domain.MaxNotes)
	if err != nil {
		return nil, core.Translate(err, "read notes")
	}
	out := make([]domain.Note, len(rows))
	for i, r := range rows {
		out[i] = domain.Note{ID: r.ID, Run: run, Actor: r.Actor, Text: r.Text, At: core.FromMicros(r.At)}
	}
	return out, nil
}

// RecentNotes returns at most limit notes of all runs since a time, newest first.
func (s *SummaryReader) RecentNotes(ctx context.Context, since time.Time, limit int) ([]domain.Note, error) {
	rows, err := s.db.Q.NoteRecent(ctx, core.Micros(since), int64(limit))
	if err != nil {
		return nil, core.Translate(err, "read notes")
	}
	out := make([]domain.Note, len(rows))
	for i, r := range rows {
		out[i] = domain.Note{
			ID:    r.ID,
			Run:   r.Run,
			Plan:  domain.PlanRef{Key: r.Key},
			Actor: r.Actor,
			Text:  r.Text,
			At:    core.FromMicros(r.At),
		}
	}
	return out, nil
}
