package kairos

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

// happened describes a journal row in one or two words.
func happened(e *domain.Entry) string {
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
		return plainWord(string(e.Status))
	case domain.EntryWait:
		return "waiting"
	case domain.EntryResolve:
		return plainWord(cmp.Or(p.Action, "resolved"))
	case domain.EntrySubstep:
		call := plainWord(cmp.Or(p.Kind, "call"))
		if tool, ok := strings.CutPrefix(p.Kind, "tool:"); ok {
			call = tool
		}
		return "call " + call
	case domain.EntryReset:
		return "resumed"
	case domain.EntryReplan:
		return "replanned"
	case domain.EntryAction:
		return plainWord(cmp.Or(p.Action, "changed"))
	}
	return string(e.Kind)
}

// plainWord returns a wire word as text.
func plainWord(word string) string { return strings.NewReplacer("_", " ", "-", " ").Replace(word) }

// byPerson reports whether a row records an action of a person or program.
func byPerson(e *domain.Entry) bool {
	return e.Actor != "" && e.Actor != domain.System.Name &&
		(e.Kind == domain.EntryResolve || e.Kind == domain.EntryReset || e.Kind == domain.EntryAction)
}

// nameOf returns the step of a row.
func nameOf(e *domain.Entry) string {
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
	logKinds = 11
	logNames = 16
)

// line formats a journal row as one line, with these widths for kinds and names.
func line(e *domain.Entry, kinds, names int) string {
	var more []string
	if e.Attempt > 1 {
		more = append(more, "attempt "+strconv.Itoa(e.Attempt))
	}
	if e.Kind == domain.EntrySubstep && e.Status != domain.NodeCompleted {
		more = append(more, plainWord(string(e.Status)))
	}
	switch {
	case e.Failure != nil:
		more = append(more, e.Failure.Message)
	case e.Final && e.Output != nil:
		more = append(more, "→ "+clip(strings.ReplaceAll(text(e.Output), "\n", " "), 80))
	case e.Kind == domain.EntryWait:
		more = append(more, plainWord(e.Reason))
	case e.Reason != "":
		more = append(more, e.Reason)
	}
	if byPerson(e) {
		more = append(more, "by "+e.Actor)
	}
	return strings.TrimRight(fmt.Sprintf("%4d  %s  %-*s  %-*s  %s", e.Seq, e.At.UTC().Format("15:04:05.000"), kinds, happened(e), names,
		nameOf(e), cli.FirstLine(strings.Join(more, " "))), " ")
}
