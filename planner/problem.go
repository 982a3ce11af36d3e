package planner

import (
	"fmt"
	"strings"

	"github.com/kairosd/kairosd/planner/message"
)

// Severity ranks a [Problem].
type Severity string

const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// Problem is one thing that is wrong with a plan document.
type Problem struct {
	Severity Severity `json:"severity"`
	// Code is stable and meant for programs, e.g. "node.type_unknown".
	Code string `json:"code"`
	// Message states the problem. Its JSON is the English text.
	Message message.Message `json:"message"`
	// Suggestion states what to do. It may be empty.
	Suggestion message.Message `json:"suggestion,omitzero"`
	Node       string          `json:"node,omitempty"`
	Line       int             `json:"line,omitempty"`   // from 1; 0: unknown
	Column     int             `json:"column,omitempty"` // from 1; 0: unknown
}

// String gives "line 3, column 7: message (suggestion)".
func (p Problem) String() string {
	var b strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&b, "line %d, column %d: ", p.Line, p.Column)
	}
	b.WriteString(p.Message.String())
	if !p.Suggestion.IsZero() {
		fmt.Fprintf(&b, " (%s)", p.Suggestion)
	}
	return b.String()
}

// Problems is a list of problems that is an error when any of them is one.
type Problems []Problem

// Err returns nil if no problem is an error, else an [*InvalidError].
func (ps Problems) Err() error {
	for _, p := range ps {
		if p.Severity == SeverityError {
			return &InvalidError{Problems: ps}
		}
	}
	return nil
}

// InvalidError says that a document is not a valid plan, with everything that
// is wrong with it. It matches [ErrNoStart] and [ErrMultipleStarts] by
// errors.Is when it holds that problem.
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
