package planner

import (
	"math"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/suggest"
)

// Limits of a document.
const (
	MaxDocument = source.MaxDocument // bytes
	MaxNodes    = 5_000
	MaxEdges    = 20_000
	MaxDepth    = source.MaxDepth
	maxProblems = 50 // errors that are listed one by one
)

// reporter collects problems.
type reporter struct {
	problems Problems
	errors   int
	warnings int
	// broken reports that fields which link nodes could not be read.
	broken bool
	// lenient converts advisory errors to warnings.
	lenient bool
}

// maxWarnings limits the warnings that are listed.
const maxWarnings = 200

// full reports whether further errors are only counted, so that their messages need not be built.
func (r *reporter) Full() bool { return r.errors >= maxProblems }

// suggest returns the nearest of the names, or otherwise if none is near. It does not search once
// the report is full, because suggestions must not take quadratic time.
func (r *reporter) Suggest(word string, names func() []string, otherwise message.Message) message.Message {
	if r.Full() {
		return message.Message{}
	}
	candidates := names()
	slices.Sort(candidates)
	if near := suggest.Nearest(word, candidates); near != "" {
		return message.New("did you mean %s?", near)
	}
	return otherwise
}

func (r *reporter) add(sev Severity, at *source.Tree, node, code string, suggestion message.Message, format string, args ...any) {
	if sev == SeverityError && r.lenient && advisory[code] {
		sev = SeverityWarning
	}
	if sev == SeverityError {
		if r.errors++; r.errors > maxProblems {
			return
		}
	} else if r.warnings++; r.warnings > maxWarnings {
		return
	}
	p := Problem{Severity: sev, Code: code, Message: message.New(format, args...), Suggestion: suggestion, Node: node}
	if at != nil {
		p.Line, p.Column = at.Line, at.Column
	}
	r.problems = append(r.problems, p)
}

func (r *reporter) Error(at *source.Tree, node, code string, suggestion message.Message, format string, args ...any) {
	r.add(SeverityError, at, node, code, suggestion, format, args...)
}

func (r *reporter) Warn(at *source.Tree, node, code string, suggestion message.Message, format string, args ...any) {
	r.add(SeverityWarning, at, node, code, suggestion, format, args...)
}

// done returns all problems in document order.
func (r *reporter) done() Problems {
	if r.errors > maxProblems {
		r.problems = append(r.problems, Problem{Severity: SeverityError, Code: "too_many_problems",
			Message: message.New(
				"and %d more errors",
				r.errors-maxProblems,
			), Suggestion: message.New("fix the errors above first"), Line: math.MaxInt})
	}
	if r.warnings > maxWarnings {
		r.problems = append(r.problems, Problem{Severity: SeverityWarning, Code: "too_many_problems",
			Message: message.New("and %d more warnings", r.warnings-maxWarnings), Line: math.MaxInt})
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	r.problems = slices.CompactFunc(r.problems, func(a, b Problem) bool { // of a template that several steps use
		return a.Line > 0 && a.Line == b.Line && a.Column == b.Column && a.Code == b.Code && a.Message.String() == b.Message.String()
	})
	for i := range r.problems {
		if r.problems[i].Line == math.MaxInt {
			r.problems[i].Line = 0
		}
	}
	return r.problems
}

// bidi reports characters that change the direction of text, because they can make a name look like
// another.
func bidi(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool {
		return 0x202A <= c && c <= 0x202E || 0x2066 <= c && c <= 0x2069 || c == 0x200E || c == 0x200F || c == 0x061C
	})
}
