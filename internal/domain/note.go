package domain

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of notes.
const (
	MaxNoteLength = 2000 // characters
	MaxNotes      = 100  // per run
)

// Note is a note of a person about a run. Notes are stored with the run and do not change.
type Note struct {
	ID    int64     `json:"id"`
	Run   string    `json:"run"`
	Plan  PlanRef   `json:"plan,omitzero"`
	Actor string    `json:"actor"`
	Text  string    `json:"text"`
	At    time.Time `json:"createdAt"`
}

// CheckNote returns the text of a note without surrounding space. The error has CodeInvalid if the
// text is empty or longer than MaxNoteLength characters.
func CheckNote(text string) (string, error) {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	switch n := utf8.RuneCountInString(text); {
	case n == 0:
		return "", Errorf(CodeInvalid, "the note is empty")
	case n > MaxNoteLength:
		return "", Errorf(CodeInvalid, "the note has %d characters; at most %d are kept", n, MaxNoteLength).
			Suggest("shorten the note, and link to the details")
	}
	return text, nil
}
