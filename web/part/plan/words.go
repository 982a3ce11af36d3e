// Package plan contains what several sections show of plans: summaries of steps, reasons of
// versions, problems, and the source.
package plan

import (
	"github.com/kairosd/kairosd/internal/diff/plandiff"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
)

// ActionOf summarizes what a step does.
func ActionOf(n *walk.ProgramNode) string {
	who := n.TypeName
	switch {
	case n.Agent != "":
		who = n.Agent
	case n.Tool != "":
		who = n.Tool
	}
	if n.Task != "" {
		return who + ": " + n.Task
	}
	return who
}

// DiffLines converts the lines of a diff.
func DiffLines(d plandiff.Diff) []kit.DiffLine {
	classes := map[plandiff.Sign]string{plandiff.Plus: "ins", plandiff.Minus: "del", plandiff.Cut: "sub"}
	out := make([]kit.DiffLine, len(d.Lines))
	for i, l := range d.Lines {
		out[i] = kit.DiffLine{Sign: string(l.Sign), Text: kit.Escape(l.Text), Class: classes[l.Sign]}
	}
	return out
}

// DraftStatus returns the status of a draft.
func DraftStatus(s domain.DraftState) kit.Status {
	switch s {
	case domain.DraftPlanning:
		return kit.Word("now", "i-now", locale.Mark("Planning"), false)
	case domain.DraftReady:
		return kit.Word("need", "i-need", locale.Mark("To be accepted"), false)
	case domain.DraftFailed:
		return kit.Word("fail", "i-fail", locale.Mark("No plan"), true)
	case domain.DraftAccepted:
		return kit.Word("ok", "i-ok", locale.Mark("Accepted"), true)
	}
	return kit.Word("idle", "i-cancelled", locale.Mark("Discarded"), true)
}

// Proposed reports whether a planner created a version of an active plan that becomes current only
// when a person accepts it.
func Proposed(pl domain.Plan, v domain.Version) bool {
	return pl.Stage == domain.StageUsed && v.Origin == "planner" && v.Hash != pl.LatestHash && v.Number > pl.Latest
}
