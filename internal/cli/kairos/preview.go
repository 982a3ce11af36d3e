package kairos

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/journal"
	"github.com/kairosd/kairosd/internal/domain"
)

// printPreview prints the predicted effect of an action.
func (c *program) printPreview(p domain.Preview) {
	if p.Damage != nil {
		c.Errorf("%s", damageText(p.Damage))
	}
	if !p.Allowed {
		c.Errorf("not possible: %s\n", p.Refusal)
		if !p.Suggestion.IsZero() {
			c.Errorf("  %s\n", p.Suggestion)
		}
		return
	}
	if p.Action == domain.ActionUndo {
		printUndo(c, p)
		return
	}
	c.Errorf("%s: %d kept, %d again, %d new", journal.Word(string(p.Action)), len(p.Keep), len(p.Again), len(p.New))
	if n := len(p.InDoubt); n > 0 {
		c.Errorf(", %d in doubt", n)
	}
	c.Errorf("\n")
	for _, group := range []struct {
		name  string
		steps []domain.PreviewStep
	}{{"again", p.Again}, {"later", p.Later}, {"overridden", p.Given}, {"in doubt", p.InDoubt}, {"dropped", p.Dropped}} {
		for _, s := range group.steps {
			c.Errorf("  %-11s  %s\n", group.name, strings.TrimSuffix(fmt.Sprintf("%s: %s", step(s), s.Reason), ": "))
		}
	}
	for _, s := range p.Effects {
		c.Errorf("  %-11s  %s (%s)\n", "side effect", step(s), s.Effect)
	}
	for _, s := range p.Repeats {
		if runs := slices.ContainsFunc(s.Items, func(i domain.RepeatItem) bool { return i.Given == "" }); runs || s.Given == "" &&
			len(s.Items) == 0 {
			if s.Doubtful {
				c.Errorf("  %-11s  %s (%s): its outcome is unknown because the journal is damaged; to skip it, use --stub\n", "in doubt",
					step(domain.PreviewStep{Node: s.Node, Visit: s.Visit}), s.Effect)
				continue
			}
			c.Errorf("  %-11s  %s (%s): to keep the earlier result, use --reuse or --stub\n", "repeated",
				step(domain.PreviewStep{Node: s.Node, Visit: s.Visit}), s.Effect)
		}
	}
	for _, d := range p.Decisions {
		c.Errorf("  %-11s  %s → %s\n", "decision", step(domain.PreviewStep{Node: d.Node, Visit: d.Visit}), cmp.Or(d.To, d.Ended))
	}
}

// executes reports whether an action continues or starts a run.
func executes(a domain.Action) bool {
	switch a {
	case domain.ActionResume, domain.ActionRerun, domain.ActionFork, domain.ActionUndo, domain.ActionUnpause, domain.ActionRetryNow,
		domain.ActionStartNow, domain.ActionRelease:
		return true
	}
	return false
}

// rowProblems describe the problems of a journal row.
var rowProblems = map[domain.RowProblem]string{domain.RowChecksum: "fails its checksum", domain.RowMissing: "is missing",
	domain.RowValue: "names a value that is damaged or gone", domain.RowIncompatible: "contradicts the rows before it"}

// damageText describes the damage of a journal, line by line.
func damageText(d *domain.Damage) string {
	text := ""
	if len(d.Parts) > 0 {
		for _, p := range d.Parts {
			text += fmt.Sprintf("damaged: %s: %s\n", p.Part, cli.FirstLine(p.Message))
		}
		return text + "the run cannot be resumed or forked: restore a backup, or start a new run of the plan\n"
	}
	for _, row := range d.Rows {
		text += fmt.Sprintf("damaged: journal row %d %s", row.Seq, rowProblems[row.Problem])
		if row.Node != "" {
			text += fmt.Sprintf("; its content: %s %s", row.Kind, stepName(row.Node, row.Visit, row.Item))
		}
		text += "\n"
	}
	if n := d.Bad - len(d.Rows); n > 0 {
		text += fmt.Sprintf("damaged: %d more rows\n", n)
	}
	for _, s := range d.Steps {
		how := fmt.Sprintf("%s by row %d", s.Status, s.Row)
		switch s.Status {
		case "":
			how = fmt.Sprintf("outcome unknown: row %d is damaged", s.Row)
		case domain.NodeRunning, domain.NodeInDoubt:
			how = fmt.Sprintf("outcome unknown: it started at row %d", s.Row)
		}
		text += fmt.Sprintf("  after it: %s (%s) %s\n", stepName(s.Node, s.Visit, s.Item), s.Effect, how)
	}
	if d.Checkpoint.Seq == 0 {
		return text + "no earlier checkpoint is left: a fork at 0 runs every step again\n"
	}
	return text + fmt.Sprintf("checkpoint %d (%s) is the last good one; fork the run from it\n", d.Checkpoint.Seq, d.Checkpoint.Label)
}

func stepName(node string, visit, item int) string {
	name := step(domain.PreviewStep{Node: node, Visit: visit})
	if item >= 0 {
		name += fmt.Sprintf("[%d]", item)
	}
	return name
}
