package kairos

import (
	"fmt"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/domain"
)

// rowProblems say what is wrong with a journal row.
var rowProblems = map[domain.RowProblem]string{domain.RowChecksum: "fails its checksum", domain.RowMissing: "is missing",
	domain.RowValue: "names a value that is damaged or gone", domain.RowMisfit: "contradicts the rows before it"}

// showDamage says what of a run's journal cannot be trusted, what is known of the
// rest, and how to go on.
func (c *program) showDamage(run string, d *domain.Damage) {
	if d.Row == 0 && len(d.Parts) == 0 {
		c.Printf("damaged: %s\n  restore a backup, or start a new run of the plan\n", d.Message)
		return
	}
	c.Printf("%s", damageText(d))
	if d.Row == 0 {
		return
	}
	c.Printf("  kairos fork %s --at %d --preview\n", domain.ShortID(run), d.Checkpoint.Seq)
}

// damageText is a journal's damage as lines.
func damageText(d *domain.Damage) string {
	text := ""
	if len(d.Parts) > 0 {
		for _, p := range d.Parts {
			text += fmt.Sprintf("damaged: %s: %s\n", p.Part, cli.FirstLine(p.Message))
		}
		return text + "the run cannot go on or be forked: restore a backup, or start a new run of the plan; this run stays as it is\n"
	}
	for _, row := range d.Rows {
		text += fmt.Sprintf("damaged: journal row %d %s", row.Seq, rowProblems[row.Problem])
		if row.Node != "" {
			text += fmt.Sprintf("; it says of itself: %s %s", row.Kind, lostName(row.Node, row.Visit, row.Item))
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
			how = fmt.Sprintf("it may have happened; row %d, which would tell, is damaged", s.Row)
		case domain.NodeRunning, domain.NodeInDoubt:
			how = fmt.Sprintf("it may have happened; it had begun by row %d", s.Row)
		}
		text += fmt.Sprintf("  behind    %s (%s) %s\n", lostName(s.Node, s.Visit, s.Item), s.Effect, how)
	}
	if d.Checkpoint.Seq == 0 {
		return text + "no checkpoint before it is left: a fork from the input, at 0, does everything again\n"
	}
	return text + fmt.Sprintf("checkpoint %d (%s) is the last good one: a fork goes on from there; this run stays as it is\n", d.Checkpoint.Seq, d.Checkpoint.Label)
}

func lostName(node string, visit, item int) string {
	name := step(domain.PreviewStep{Node: node, Visit: visit})
	if item >= 0 {
		name += fmt.Sprintf("[%d]", item)
	}
	return name
}
