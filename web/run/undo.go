package run

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/run/record"
	"github.com/kairosd/kairosd/web/ui"
)

// undo returns the link to the undo of an ended run, if steps with an undo have completed. Child runs are
// not read here, so a step that ran another plan, or a block with an undo, counts, too.
func (b *headPart) undo(link func(text, action string, primary bool) kit.Link) []kit.Link {
	run := b.Detail.Run
	if b.Program == nil || run.Parent != nil || run.Dry() || !run.DeletedAt.IsZero() || !run.PurgedAt.IsZero() {
		return nil
	}
	plans, undos := false, false
	for _, st := range b.Steps {
		i, ok := b.Program.Index[st.Node]
		if !ok || st.Reused {
			continue
		}
		n := &b.Program.Nodes[i]
		undos = undos || n.Undo != nil && st.Status == domain.NodeCompleted
		plans = plans || n.Type == walk.TypePlan && (n.Block == nil || hasUndo(n.Block.Program))
	}
	if !undos && !plans {
		return nil
	}
	return []kit.Link{link(b.T("Undo…"), "undo", false)}
}

// hasUndo reports whether a step of the program, or of a block in it, has an undo, or runs another plan.
func hasUndo(p *walk.Program) bool {
	has := false
	walk.EachNode(p, func(_ string, n *walk.ProgramNode) {
		has = has || n.Undo != nil || n.Type == walk.TypePlan && n.Block == nil
	})
	return has
}

// undoActions returns the actions on an ended undo run. It has no rerun and no fork, which would undo steps
// twice.
func (b *headPart) undoActions(link func(text, action string, primary bool) kit.Link) []kit.Link {
	if run := b.Detail.Run; run.Status == domain.RunCompleted || !run.DeletedAt.IsZero() {
		return nil
	}
	return []kit.Link{link(b.T("Resume"), "resume", true)}
}

// UndoNote shows a run that undoes steps of this run.
type UndoNote struct {
	ID     string // of the heading
	Link   kit.Link
	Status kit.Status
	By     string
	At     kit.Time
	Steps  []UndoneStep
	More   int // steps that are not listed
}

// UndoneStep is a step that is undone.
type UndoneStep struct {
	Name   string
	Status kit.Status
	At     kit.Time
}

// maxUndone is the maximum number of steps that the head of the page lists for an undo run.
const maxUndone = 30

// undoNotes describes the runs that undo steps of a run.
func undoNotes(c *ui.Context, undos []domain.UndoRun) (out []UndoNote) {
	for _, u := range undos {
		short := domain.ShortID(u.ID)
		n := UndoNote{ID: "undo-" + short, Link: kit.Link{Text: c.T("Undone by run %s", short), Href: "/runs/" + u.ID},
			Status: ui.RunStatus(u.Status, ""), By: kit.Escape(u.Actor), At: c.Time(u.CreatedAt)}
		for i, s := range u.Steps {
			if i == maxUndone {
				n.More = len(u.Steps) - maxUndone
				break
			}
			done := UndoneStep{Name: kit.ItemName(s.Node, s.Visit, s.Item), Status: record.StepStatus(s.Status)}
			if !s.EndedAt.IsZero() {
				done.At = c.Time(s.EndedAt)
			}
			n.Steps = append(n.Steps, done)
		}
		out = append(out, n)
	}
	return out
}
