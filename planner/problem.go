package planner

import (
	"fmt"
	"strings"

	"github.com/kairosd/kairosd/planner/message"
)

// Severity is the rank of a [Problem].
type Severity string

const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// Problem is one error or warning in a plan document.
type Problem struct {
	Severity Severity `json:"severity"`
	// Code is stable and meant for programs, for example "node.type_unknown".
	Code string `json:"code"`
	// Message describes the problem. Its JSON is the English text.
	Message message.Message `json:"message"`
	// Suggestion describes what to do. It may be empty.
	Suggestion message.Message `json:"suggestion,omitzero"`
	Node       string          `json:"node,omitempty"`
	Line       int             `json:"line,omitempty"`   // starts at 1; 0 means unknown
	Column     int             `json:"column,omitempty"` // starts at 1; 0 means unknown
	// File is the path of the file, if the document was read with the files that it names.
	File string `json:"file,omitempty"`
}

// String returns "line 3, column 7: message (suggestion)", after the file if there is one.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File + ": ")
	}
	if p.Line > 0 {
		fmt.Fprintf(&b, "line %d, column %d: ", p.Line, p.Column)
	}
	b.WriteString(p.Message.String())
	if !p.Suggestion.IsZero() {
		fmt.Fprintf(&b, " (%s)", p.Suggestion)
	}
	return b.String()
}

// Problems is a list of errors and warnings. [Problems.Err] returns it as an error if it contains
// one.
type Problems []Problem

// Err returns an [*InvalidError] if one of the problems is an error, and nil otherwise.
func (ps Problems) Err() error {
	for _, p := range ps {
		if p.Severity == SeverityError {
			return &InvalidError{Problems: ps}
		}
	}
	return nil
}

// InvalidError reports that a document is not a valid plan, with all of its problems. errors.Is
// matches [ErrNoStart] and [ErrMultipleStarts] if it contains that problem.
type InvalidError struct{ Problems Problems }

func (e *InvalidError) Error() string {
	lines := make([]string, 0, len(e.Problems))
	for _, p := range e.Problems {
		if p.Severity == SeverityError {
			lines = append(lines, p.String())
		}
	}
	return strings.Join(lines, "\n")
}
