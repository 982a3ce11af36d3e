package run

import (
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// Damaged describes the damaged part of a run row.
var Damaged = map[domain.RunPart]string{
	domain.PartDetails: locale.Mark(
		"The start parameters of this run are damaged",
	), domain.PartInput: locale.Mark("The input of this run is damaged"),
	domain.PartOutput: locale.Mark(
		"The output of this run is damaged",
	), domain.PartLimits: locale.Mark("The limits of this run are damaged"),
	domain.PartLabels: locale.Mark(
		"The labels of this run are damaged",
	), domain.PartParent: locale.Mark("The reference to the parent run is damaged"),
	domain.PartConcurrency: locale.Mark("The concurrency key of this run is damaged"),
}

// rowProblems describe the damage of a journal row with a given number.
var rowProblems = map[domain.RowProblem]string{
	domain.RowChecksum: locale.Mark("Row %d of the journal fails its checksum"),
	domain.RowMissing:  locale.Mark("Row %d of the journal is missing"),
	domain.RowValue: locale.Mark(
		"Row %d of the journal names a value that is damaged or gone",
	),
	domain.RowIncompatible: locale.Mark("Row %d of the journal contradicts the rows before it"),
}

// DamageHeadline describes the damage of a run in one line.
func DamageHeadline(c *ui.Context, d *domain.Damage) string {
	if len(d.Parts) > 0 {
		return c.T(Damaged[d.Parts[0].Part])
	}
	problem := domain.RowChecksum
	if len(d.Rows) > 0 {
		problem = d.Rows[0].Problem
	}
	what := c.T(rowProblems[problem], d.Row)
	if d.Checkpoint.Seq == 0 {
		return c.T("%s; no checkpoint before it is left", what)
	}
	return c.T("%s; checkpoint %d (%s) is the last good one", what, d.Checkpoint.Seq, PointName(c, d.Checkpoint))
}

// PointName returns the name of a checkpoint from which a fork can start.
func PointName(c *ui.Context, pt domain.ForkPoint) string {
	if pt.Node == "" {
		return c.T("input")
	}
	name := kit.Escape(pt.Node)
	if pt.Visit > 1 {
		name = c.T("%s (iteration %d)", name, pt.Visit)
	}
	if i := strings.LastIndex(pt.Label, " ["); i >= 0 && strings.HasSuffix(pt.Label, "]") { // an item of a foreach
		name += pt.Label[i:]
	}
	return c.T("after %s", name)
}
