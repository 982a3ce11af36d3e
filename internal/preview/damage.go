package preview

import (
	"fmt"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// DamagedJournal is a damaged journal, split into the rows before the damage, the damaged rows, and
// the intact rows after them.
type DamagedJournal struct {
	domain.Damage
	Good  []domain.Entry // all rows before the first damaged one
	After []domain.Entry // the intact rows after the damage
	Rows  []domain.DamagedRow
}

// Cut marks an intact row that contradicts the rows before it as damaged.
func (d *DamagedJournal) Cut(at int64) {
	if at < 1 || at > int64(len(d.Good)) {
		return
	}
	row := d.Good[at-1]
	d.After = slices.Concat(d.Good[at:], d.After)
	d.Good = d.Good[: at-1 : at-1]
	d.Rows = slices.Insert(d.Rows, 0, domain.DamagedRow{Seq: row.Seq, Problem: domain.RowIncompatible, Kind: row.Kind, Node: row.Node,
		Visit: row.Visit,
		Item:  row.Item, Attempt: row.Attempt, Status: row.Status, Effect: row.Effect})
}

// DescribeDamage lists the damaged rows, and the steps that a fork from before the damage runs
// again.
func (v *View) DescribeDamage(d *DamagedJournal) *domain.Damage {
	out := d.Damage
	out.Good, out.Bad, out.Intact = int64(len(d.Good)), len(d.Rows), len(d.After)
	out.Row = out.Good + 1
	for _, row := range d.Rows {
		if row.Seq > out.Good {
			out.Row = row.Seq
			break
		}
	}
	points := v.points()
	out.Checkpoint = points[len(points)-1]
	for i, row := range d.Rows {
		if _, known := v.Program.Index[row.Node]; !known && row.Problem != domain.RowValue && row.Problem != domain.RowIncompatible {
			d.Rows[i] = domain.DamagedRow{Seq: row.Seq, Problem: row.Problem, Item: runstate.NoItem} // no field of the row is reliable
		}
	}
	out.Rows = d.Rows[:min(len(d.Rows), domain.MaxDamagedRows)]
	out.Steps = v.lostSteps(d)
	return &out
}

// lostSteps returns the steps that started or ended after the last checkpoint, in the order of
// their first rows.
func (v *View) lostSteps(d *DamagedJournal) []domain.LostStep {
	type key struct {
		node        string
		visit, item int
	}
	steps, at := []domain.LostStep{}, map[key]int{}
	note := func(s domain.LostStep, sure bool) {
		i, ok := v.Program.Index[s.Node]
		if !ok || s.Visit < 1 {
			return // the row belongs to another version, or to no node
		}
		static := v.Env.StaticEffect(v.Program, &v.Program.Nodes[i])
		if stated := walk.Effect(s.Effect); stated == "" || !sure && (!touches(stated) || static.Stricter(stated)) {
			s.Effect = string(static) // a damaged row may hide side effects
		}
		k := key{s.Node, s.Visit, s.Item}
		j, known := at[k]
		if !known {
			at[k] = len(steps)
			steps = append(steps, s)
			return
		}
		steps[j].Status, steps[j].Row, steps[j].Effect = s.Status, s.Row, s.Effect // a later row contains newer data
	}
	intact := func(row *domain.Entry) {
		s := domain.LostStep{Node: row.Node, Visit: row.Visit, Item: row.Item, Effect: row.Effect, Row: row.Seq}
		switch {
		case row.Kind == domain.EntryIntent, row.Kind == domain.EntrySubstep, row.Kind == domain.EntryResult &&
			row.Status == domain.NodePending:
			s.Status = domain.NodeRunning
		case row.Kind == domain.EntryWait:
			s.Status = domain.NodeWaiting
		case row.Kind == domain.EntryResult:
			s.Status = row.Status
		default:
			return
		}
		note(s, true)
	}
	for i := range d.Good {
		if k := &d.Good[i]; k.Kind == domain.EntryIntent || k.Kind == domain.EntryWait {
			if w := v.openStep(k); w != nil && w.Phase != runstate.PhaseReady {
				intact(k)
			}
		}
	}
	after := d.After
	for _, row := range d.Rows {
		for len(after) > 0 && after[0].Seq < row.Seq {
			intact(&after[0])
			after = after[1:]
		}
		switch row.Kind {
		case domain.EntryIntent, domain.EntryWait, domain.EntrySubstep, domain.EntryResult:
			note(domain.LostStep{Node: row.Node, Visit: row.Visit, Item: row.Item, Effect: row.Effect, Row: row.Seq},
				row.Problem == domain.RowValue || row.Problem == domain.RowIncompatible)
		}
	}
	for i := range after {
		intact(&after[i])
	}
	return steps
}

// openStep returns the open step that a row of the view began, or nil.
func (v *View) openStep(row *domain.Entry) *runstate.Step {
	k, err := v.State.Key(row)
	if err != nil {
		return nil
	}
	return v.State.Open[k]
}

// Reasons why steps run again in a fork from before the damage.
const (
	whyDamaged = "the row with its outcome is damaged"
	whyOpen    = "no intact row has its outcome"
	whyBehind  = "it ended after the damaged row"
)

// lost adds the reason why steps after the damage run again.
func (v *View) lost(why map[string]domain.Message) {
	if v.Damage == nil {
		return
	}
	for _, s := range v.Damage.Steps {
		if _, known := why[s.Node]; known {
			continue
		}
		switch s.Status {
		case "":
			why[s.Node] = domain.Messagef(whyDamaged)
		case domain.NodeRunning, domain.NodeWaiting, domain.NodeInDoubt:
			why[s.Node] = domain.Messagef(whyOpen)
		default:
			why[s.Node] = domain.Messagef(whyBehind)
		}
	}
}

// UnreadableDamage describes a journal that cannot be read at all.
func UnreadableDamage(cause error) *domain.Damage {
	return &domain.Damage{Message: cause.Error(), Checkpoint: domain.ForkPoint{Label: "input", Closed: true},
		Rows: []domain.DamagedRow{}, Steps: []domain.LostStep{}}
}

// ReasonDamaged is the reason of errors because of a damaged journal.
const ReasonDamaged = "damaged"

// checkpointName returns the name of a checkpoint for a sentence.
func checkpointName(p domain.ForkPoint) string {
	if p.Seq == 0 {
		return "its input"
	}
	return fmt.Sprintf("checkpoint %d (%s)", p.Seq, p.Label)
}

// RefuseDamaged returns the error of an action on a run with a damaged journal. doing names the
// action.
func RefuseDamaged(run string, d *domain.Damage, code domain.Code, doing string) *domain.Error {
	if len(d.Parts) > 0 {
		err := domain.Errorf(code, "%s: %s of the run is damaged: %s", doing, d.Parts[0].Part, d.Parts[0].Message)
		err.Reason = ReasonDamaged
		return err.Suggest("restore a backup, or start a new run of its plan; this run stays as it is")
	}
	err := domain.Errorf(code, "%s: journal row %d is damaged; %s is the last good one", doing, d.Row, checkpointName(d.Checkpoint))
	err.Reason = ReasonDamaged
	return err.Suggest(
		"fork the run from there: kairos fork %s --at %d --preview shows what runs again; the damaged run stays as it is",
		domain.ShortID(run),
		d.Checkpoint.Seq,
	)
}

// beyond returns an error for a fork that would keep damaged rows.
func (v *View) beyond(at int64) error {
	return RefuseDamaged(v.Run.ID, v.Damage, domain.CodeConflict, fmt.Sprintf("a fork cannot start from position %d", at))
}

// DamagedAction previews an action on a damaged run. It can only be cancelled or deleted.
func (v *View) DamagedAction(req domain.ActionRequest) (domain.Preview, error) {
	if err := CheckDamaged(v.Run, req, v.Damage); err != nil {
		return domain.Preview{}, err
	}
	p := v.blank(req.Action)
	p.Allowed = true
	lists{}.fill(&p)
	return p, nil
}

// CheckDamaged returns an error for every action on a damaged run except cancel and delete.
func CheckDamaged(r domain.Run, req domain.ActionRequest, d *domain.Damage) error {
	final := r.Status.Final()
	switch {
	case req.Action == domain.ActionResume:
		return RefuseDamaged(r.ID, d, domain.CodeNotResumable, "the run cannot be resumed")
	case req.Action == domain.ActionCancel && final:
		return domain.Errorf(domain.CodeConflict, "nothing to cancel; %s", domain.RunIs(r.Status, ""))
	case req.Action == domain.ActionDelete && !final:
		return domain.Errorf(domain.CodeConflict, "only a finished run can be deleted").Suggest("cancel it first")
	case req.Action == domain.ActionDelete && !r.DeletedAt.IsZero():
		return domain.Errorf(domain.CodeConflict, "the run was already deleted")
	case req.Action == domain.ActionCancel, req.Action == domain.ActionDelete:
		return nil
	}
	whole := "journal"
	if len(d.Parts) > 0 {
		whole = "run"
	}
	return RefuseDamaged(r.ID, d, domain.CodeConflict, fmt.Sprintf("%s requires the whole %s", req.Action, whole))
}

// QuarantineMessage returns the status message of a quarantined run with damage, and its node.
func QuarantineMessage(d *domain.Damage) (message domain.Message, node string) {
	if len(d.Parts) > 0 {
		return domain.Messagef("the start data of the run is damaged (%s); it cannot continue", d.Parts[0].Part), ""
	}
	if d.Checkpoint.Seq == 0 {
		return domain.Messagef("journal row %d is damaged; the run can continue as a fork from its input", d.Row), d.Rows[0].Node
	}
	return domain.Messagef("journal row %d is damaged; the run can continue as a fork from checkpoint %d (%s)", d.Row,
		d.Checkpoint.Seq, d.Checkpoint.Label), d.Rows[0].Node
}

// DamagedDetail returns the detail of a damaged run. Unless the run is final, it is shown as
// quarantined: it accepts no answers, and executes nothing.
func (v *View) DamagedDetail() domain.RunDetail {
	if r := &v.Run; !r.Status.Final() {
		r.Status, r.WaitReason, r.DueAt = domain.RunWaiting, domain.WaitQuarantined, time.Time{}
		r.StatusMessage, r.Node = QuarantineMessage(v.Damage)
		r.Headline = r.StatusMessage.String()
	}
	d := domain.RunDetail{Run: v.Run, Journal: v.Journal, Damage: v.Damage}
	if v.Run.Status == domain.RunWaiting {
		d.Waits = []domain.Wait{{Item: runstate.NoItem, Reason: v.Run.WaitReason, Message: v.Run.Headline,
			Text: v.Run.StatusMessage}}
	}
	return d
}
