package app

import (
	"context"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Runs contains the operations on runs.
type Runs struct{ *kernel }

type runStore interface {
	domain.ExportSigner
	FindRun(ctx context.Context, id string) (domain.Run, error)
	Runs(ctx context.Context, f domain.RunFilter) (domain.List[domain.Run], error)
	JournalPage(ctx context.Context, run string, after int64, limit int) ([]domain.Entry, error)
	Lineage(ctx context.Context, run string) ([]domain.Run, error)
	Conversation(ctx context.Context, run string) (domain.Conversation, error)
	Uses(ctx context.Context, run string) ([]domain.Use, error)
	Steps(ctx context.Context, f domain.StepFilter) (domain.StepHits, error)
	HandoffsOf(ctx context.Context, f domain.HandoffFilter) (domain.List[domain.HandoffSummary], error)
	Handoff(ctx context.Context, id string) (domain.HandoffSummary, error)
	PlanFlow(ctx context.Context, plan string, version int, since time.Time) (domain.PlanFlow, error)
	Notes(ctx context.Context, run string) ([]domain.Note, error)
	RecentNotes(ctx context.Context, since time.Time, limit int) ([]domain.Note, error)
}

// Notes lists the notes of a run, oldest first.
//
// Errors: not_found, conflict (the id matches several runs), forbidden.
func (r *Runs) Notes(ctx context.Context, by domain.Actor, run string) ([]domain.Note, error) {
	if err := r.allow(ctx, ListNotes, by, ""); err != nil {
		return nil, err
	}
	found, err := r.find(ctx, run)
	if err != nil {
		return nil, err
	}
	return r.store.Notes(ctx, found.ID)
}

// RecentNotes lists notes of all runs since a time, newest first.
//
// Errors: forbidden.
func (r *Runs) RecentNotes(ctx context.Context, by domain.Actor, since time.Time, limit int) ([]domain.Note, error) {
	if err := r.allow(ctx, ListNotes, by, ""); err != nil {
		return nil, err
	}
	return r.store.RecentNotes(ctx, since, limit)
}

// NoteRequest is a note about a run.
type NoteRequest struct {
	Meta `json:"-"`
	Run  string // id, or an unambiguous part of it
	Text string // at most domain.MaxNoteLength characters
}

// AddNote adds a note to a run. Notes cannot be changed.
//
// Errors: invalid (the text), not_found, conflict (the run has domain.MaxNotes notes, or the ID
// matches several runs), forbidden.
func (r *Runs) AddNote(ctx context.Context, req NoteRequest) (domain.Note, error) {
	text, err := domain.CheckNote(req.Text)
	if err != nil {
		return domain.Note{}, err
	}
	run, err := r.find(ctx, req.Run)
	if err != nil {
		return domain.Note{}, err
	}
	written := object[domain.Note]{
		id: func(domain.Note) string { return run.ID },
		find: func(ctx context.Context, id string) (domain.Note, error) {
			notes, err := r.store.Notes(ctx, id)
			for _, n := range notes {
				if n.Actor == req.By.Name && n.Text == text {
					return n, err
				}
			}
			return domain.Note{Run: id, Actor: req.By.Name, Text: text}, err
		},
	}
	return perform(
		ctx,
		r.kernel,
		AddNote,
		req.Meta,
		req,
		written,
		func(tx *store.Tx) (domain.Note, error) { return tx.AddNote(run.ID, text) },
	)
}

// AcknowledgeRequest acknowledges a failed run.
type AcknowledgeRequest struct {
	Meta     `json:"-"`
	Run      string    // id, or an unambiguous part of it
	Note     string    // stored with the run; may be empty
	ResumeAt time.Time // when to resume the run; zero means never
}

// Acknowledge acknowledges a failed run: it needs no attention until it fails again. If the run is
// already acknowledged, it does not change, and the note is added.
//
// Errors: invalid (the note, a time in the past), not_found, conflict (the run has not failed),
// unavailable (no daemon resumes runs), forbidden.
func (r *Runs) Acknowledge(ctx context.Context, req AcknowledgeRequest) (domain.Run, error) {
	intent, err := r.intent(AcknowledgeRun, req.Meta, req)
	if err != nil {
		return domain.Run{}, err
	}
	switch id, done, err := r.store.Done(ctx, intent); {
	case err != nil:
		return domain.Run{}, err
	case done:
		req.repeat()
		return r.store.FindRun(ctx, id)
	}
	note := strings.TrimSpace(req.Note)
	if note != "" {
		if note, err = domain.CheckNote(note); err != nil {
			return domain.Run{}, err
		}
	}
	run, err := r.find(ctx, req.Run)
	var resume *later
	switch {
	case err != nil:
		return run, err
	case run.Status != domain.RunFailed:
		return run, domain.Errorf(domain.CodeConflict, "%s", domain.RunIs(run.Status, "")).Suggest("only a failed run can be acknowledged")
	case !req.ResumeAt.IsZero():
		if resume, err = r.resumeAt(ctx, req.By, req.ResumeAt,
			domain.BulkRequest{Runs: []string{run.ID}, Reason: clip(note, 500)}); err != nil {
			return run, err
		}
		note = strings.TrimSpace(clip(note, domain.MaxNoteLength-60) + "\n↻ " + req.ResumeAt.UTC().Format(time.RFC3339))
	}
	found := object[domain.Run]{id: func(domain.Run) string { return run.ID }, find: r.store.FindRun}
	_, repeated, err := performWithWork(ctx, r.kernel, AcknowledgeRun, req.Meta, req, found, func(tx *store.Tx) (domain.Run, error) {
		_, err := tx.Attention().AckRun(run.ID, note)
		if err == nil && note != "" {
			_, err = tx.AddNote(run.ID, note)
		}
		if err == nil {
			err = resume.store(tx)
		}
		return run, err
	})
	if err != nil {
		return run, err
	}
	if !repeated {
		r.launch(resume)
	}
	return r.store.FindRun(ctx, run.ID)
}

// clip shortens a text to at most n characters.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
