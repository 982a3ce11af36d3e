// Package journal prints the rows of a journal, one per line.
package journal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/domain"
)

// payload holds the parts of a journal row that are not fields.
type payload struct{ Kind, Action string }

// Event describes a row in one or two words.
func Event(e *domain.Entry) string {
	var p payload
	if len(e.Decision) > 0 {
		_ = json.Unmarshal(e.Decision, &p) // other rows have other content
	}
	switch e.Kind {
	case domain.EntryIntent:
		return "started"
	case domain.EntryResult:
		if e.Status == domain.NodePending {
			return "interrupted"
		}
		return Word(string(e.Status))
	case domain.EntryWait:
		return "waiting"
	case domain.EntryResolve:
		return Word(cmp.Or(p.Action, "resolved"))
	case domain.EntrySubstep:
		call := Word(cmp.Or(p.Kind, "call"))
		if tool, ok := strings.CutPrefix(p.Kind, "tool:"); ok {
			call = tool
		}
		return "call " + call
	case domain.EntryReset:
		return "resumed"
	case domain.EntryReplan:
		return "replanned"
	case domain.EntryAction:
		return Word(cmp.Or(p.Action, "changed"))
	}
	return string(e.Kind)
}

// Word returns a word of the API, such as in_doubt, as text.
func Word(word string) string { return strings.NewReplacer("_", " ", "-", " ").Replace(word) }

// byPerson reports whether a row records an action of a person or program.
func byPerson(e *domain.Entry) bool {
	return e.Actor != "" && e.Actor != domain.System.Name &&
		(e.Kind == domain.EntryResolve || e.Kind == domain.EntryReset || e.Kind == domain.EntryAction)
}

// Step returns the step of a row, with its iteration and item.
func Step(e *domain.Entry) string {
	name := cmp.Or(e.Node, "run")
	if e.Visit > 1 {
		name += "#" + strconv.Itoa(e.Visit)
	}
	if e.Item >= 0 && e.Node != "" {
		name += "[" + strconv.Itoa(e.Item) + "]"
	}
	return name
}

// Widths of the columns of a log. Rows are printed as they arrive, so the widths cannot depend on
// them.
const (
	EventWidth = 11
	StepWidth  = 16
)

// Line formats a row as one line. The widths are those of the columns for events and steps.
func Line(e *domain.Entry, events, steps int) string {
	var more []string
	if e.Attempt > 1 {
		more = append(more, "attempt "+strconv.Itoa(e.Attempt))
	}
	if e.Kind == domain.EntrySubstep && e.Status != domain.NodeCompleted {
		more = append(more, Word(string(e.Status)))
	}
	switch {
	case e.Failure != nil:
		more = append(more, e.Failure.Message)
	case e.Final && e.Output != nil:
		more = append(more, "→ "+cli.Clip(strings.ReplaceAll(cli.JSONText(e.Output), "\n", " "), 80))
	case e.Kind == domain.EntryWait:
		more = append(more, Word(e.Reason))
	case e.Reason != "":
		more = append(more, e.Reason)
	}
	if byPerson(e) {
		more = append(more, "by "+e.Actor)
	}
	return strings.TrimRight(fmt.Sprintf("%4d  %s  %-*s  %-*s  %s", e.Seq, e.At.UTC().Format("15:04:05.000"), events, Event(e), steps,
		Step(e), cli.FirstLine(strings.Join(more, " "))), " ")
}
