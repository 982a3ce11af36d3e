package domain

import (
	"context"
	"strings"
	"time"
)

// Acknowledger takes note of failed runs.
type Acknowledger interface {
	// AckRun: the run needs attention no more until it fails anew; CodeConflict: it
	// has not failed, or somebody took note of it before.
	AckRun(ctx context.Context, actor Actor, run, note string) error
	AddNote(ctx context.Context, actor Actor, run, text string) (Note, error)
}

// BulkStarter begins acts on runs that may wait for a time.
type BulkStarter interface {
	Start(ctx context.Context, actor Actor, r BulkRequest) (Bulk, error)
}

// TakeNote acknowledges one failed run: a note, if there is one, stays with
// it, and at a time, if one is given, it is resumed. CodeInvalid for a note that
// CheckNote refuses, and for a time that is past.
func TakeNote(ctx context.Context, store Acknowledger, bulk BulkStarter, actor Actor, run Run, note string, resumeAt time.Time) error {
	if note = strings.TrimSpace(note); note != "" {
		var err error
		if note, err = CheckNote(note); err != nil {
			return err
		}
	}
	if run.Status != RunFailed {
		return Errorf(CodeConflict, "the run is %s", run.Status).Suggest("only a failed run can be acknowledged")
	}
	if !resumeAt.IsZero() {
		if !resumeAt.After(time.Now()) {
			return Errorf(CodeInvalid, "%s is past", resumeAt.UTC().Format(time.RFC3339)).Suggest("resume the run now, or give a time to come")
		}
		if bulk == nil {
			return Errorf(CodeUnavailable, "nothing here resumes runs at a time").Suggest("a daemon (kairosd serve) does")
		}
		r := BulkRequest{Action: ActionResume, Runs: []string{run.ID}, Reason: clip(note, 500), NotBefore: resumeAt}
		if _, err := bulk.Start(ctx, actor, r); err != nil {
			return err
		}
		note = strings.TrimSpace(clip(note, MaxNoteLength-60) + "\n↻ " + resumeAt.UTC().Format(time.RFC3339))
	}
	if run.Attention { // else somebody did before; the note is one more
		if err := store.AckRun(ctx, actor, run.ID, note); err != nil && (CodeOf(err) != CodeConflict || note == "") {
			return err
		}
	} else if note == "" {
		return Errorf(CodeConflict, "somebody took note of the run before")
	}
	if note == "" {
		return nil
	}
	_, err := store.AddNote(ctx, actor, run.ID, note)
	return err
}

// clip is the beginning of a text, of at most n characters.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
