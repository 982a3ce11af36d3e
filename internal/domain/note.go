package domain

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of notes.
const (
	MaxNoteLength = 2000 // characters
	MaxNotes      = 100  // of one run
)

// Note is what a person wrote about a run for the next reader. Notes are
// kept with the run, and are not changed.
type Note struct {
	ID    int64     `json:"id"`
	Run   string    `json:"run"`
	Plan  PlanRef   `json:"plan,omitzero"`
	Actor string    `json:"actor"`
	Text  string    `json:"text"`
	At    time.Time `json:"createdAt"`
}

// CheckNote gives the text of a note without the blanks around it; CodeInvalid if
// nothing is left, or more than MaxNoteLength characters.
func CheckNote(text string) (string, error) {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	switch n := utf8.RuneCountInString(text); {
	case n == 0:
		return "", Errorf(CodeInvalid, "the note is empty")
	case n > MaxNoteLength:
		return "", Errorf(CodeInvalid, "the note has %d characters; at most %d are kept", n, MaxNoteLength).
			Suggest("say the essence, and link to the rest")
	}
	return text, nil
}
