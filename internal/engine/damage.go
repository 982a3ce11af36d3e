package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
)

// This file is about runs whose journal is damaged. What is damaged is never taken
// for good, and nothing of it is written over: a journal is append-only and every
// row stands in the audit log by its digest. Such a run does not go on; a fork of
// the rows before the damage does, as a run of its own, and its preview says what
// happens again.

// journal reads the whole journal of a run as it was read before; CodeCorrupt also
// when rows miss at its end.
func (e *Engine) journal(ctx context.Context, r domain.Run) ([]domain.Entry, error) {
	rows, err := e.store.Journal(ctx, r.ID, 0)
	if n := int64(len(rows)); err == nil && r.PurgedAt.IsZero() && n < r.LastSeq {
		return rows, domain.Errorf(domain.CodeCorrupt, "journal row %d of run %s is missing", n+1, r.ID)
	}
	return rows, err
}

// damagedJournal is a journal taken apart.
type damagedJournal struct {
	domain.Damage
	good  []domain.Entry // all rows before the first damaged one
	after []domain.Entry // the intact ones behind it
	rows  []domain.DamagedRow
}

// damage takes apart the journal that cause speaks of. nil: cause is about
// something else, or the file gives no rows at all.
func (e *Engine) damage(ctx context.Context, r domain.Run, cause error) *damagedJournal {
	if domain.CodeOf(cause) != domain.CodeCorrupt {
		return nil
	}
	rows, bad, err := e.store.Intact(ctx, r.ID, r.LastSeq)
	if err != nil {
		return nil
	}
	if now, err := e.store.Run(ctx, r.ID); err != nil || !now.PurgedAt.IsZero() {
		return nil // retention was at work
	}
	n := 0
	for n < len(rows) && rows[n].Seq == int64(n)+1 {
		n++
	}
	d := &damagedJournal{good: rows[:n:n], after: rows[n:], rows: bad}
	if at, ok := errors.AsType[runstate.InvalidRow](cause); ok {
		d.cut(int64(at))
	}
	if len(d.rows) == 0 {
		return nil
	}
	d.Message = cause.Error()
	return d
}

// cut takes a row that is as it was written, and contradicts those before it, for
// damaged.
func (d *damagedJournal) cut(at int64) {
	if at < 1 || at > int64(len(d.good)) {
		return
	}
	row := d.good[at-1]
	d.after = slices.Concat(d.good[at:], d.after)
	d.good = d.good[: at-1 : at-1]
	d.rows = slices.Insert(d.rows, 0, domain.DamagedRow{Seq: row.Seq, Problem: domain.RowMisfit, Kind: row.Kind, Node: row.Node, Visit: row.Visit,
		Item: row.Item, Attempt: row.Attempt, Status: row.Status, Effect: row.Effect})
}

// salvaged is view, also of a run whose journal is damaged: then of the rows before
// the damage, with what is known of the rest.
func (e *Engine) salvaged(ctx context.Context, run string) (*view, error) {
	v, err := e.view(ctx, run)
	if d, is := e.salvage(ctx, run, err, e.program); is {
		return d, nil
	}
	return v, err
}

// salvage is the view of a run whose journal is damaged, if that is what cause
// says.
func (e *Engine) salvage(ctx context.Context, run string, cause error, compile func(context.Context, string) (*program, error)) (*view, bool) {
	if domain.CodeOf(cause) != domain.CodeCorrupt {
		return nil, false
	}
	r, err := e.store.Run(ctx, run)
	if err != nil {
		return nil, false
	}
	if err := r.Corrupt(); err != nil {
		return e.halved(ctx, r, err), true
	}
	d := e.damage(ctx, r, cause)
	if d == nil {
		return nil, false
	}
	input, err := runstate.Decode(r.Input)
	if err != nil {
		return nil, false
	}
	for {
		hash, err := e.versionAfter(ctx, r, d.good)
		if err != nil {
			return nil, false
		}
		p, err := compile(ctx, hash)
		if err != nil {
			return nil, false
		}
		s, err := e.foldRun(ctx, p, r, input, d.good, true)
		if at, ok := errors.AsType[runstate.InvalidRow](err); ok && at >= 1 && int64(at) <= int64(len(d.good)) {
			d.cut(int64(at))
			d.Message = err.Error()
			continue
		}
		if err != nil {
			return nil, false
		}
		v := &view{env: &e.env, run: r, prog: p, journal: d.good, s: s, after: d.after}
		v.damage = v.describe(d)
		return v, true
	}
}

// halved is the view of a run that has lost its input or its settings: what it came
// to can be looked at, but nothing can be worked out from it.
func (e *Engine) halved(ctx context.Context, r domain.Run, cause error) *view {
	journal, err := e.store.Journal(ctx, r.ID, 0) // those that can be trusted, if not all
	v := &view{env: &e.env, run: r, journal: journal, damage: unreadable(cause)}
	v.damage.Parts, v.damage.Good = r.Damaged, int64(len(journal))
	if err != nil {
		v.damage.Message += "; " + err.Error()
	}
	return v
}

// versionAfter is the hash of the version that a run follows after rows of its
// journal. The run's own row speaks of the last of them all.
func (e *Engine) versionAfter(ctx context.Context, r domain.Run, rows []domain.Entry) (string, error) {
	for _, row := range slices.Backward(rows) {
		var p runstate.Replan
		if row.Kind == domain.EntryReplan && json.Unmarshal(row.Decision, &p) == nil && p.Hash != "" {
			return p.Hash, nil
		}
	}
	// What it began with is in the record of its creation.
	events, err := e.store.EventsAfter(ctx, 0, r.ID, 8)
	if err != nil {
		return "", err
	}
	for _, ev := range events {
		var created struct {
			Hash string `json:"hash"`
		}
		if ev.Action == "run.created" && json.Unmarshal(ev.Detail, &created) == nil && created.Hash != "" {
			return created.Hash, nil
		}
	}
	return r.Hash, nil
}

// describe says what is damaged, and what a fork from before it does again.
func (v *view) describe(d *damagedJournal) *domain.Damage {
	out := d.Damage
	out.Good, out.Bad, out.Intact = int64(len(d.good)), len(d.rows), len(d.after)
	out.Row = out.Good + 1
	for _, row := range d.rows {
		if row.Seq > out.Good {
			out.Row = row.Seq
			break
		}
	}
	points := v.points()
	out.Checkpoint = points[len(points)-1]
	for i, row := range d.rows {
		if _, known := v.prog.Index[row.Node]; !known && row.Problem != domain.RowValue && row.Problem != domain.RowMisfit {
			d.rows[i] = domain.DamagedRow{Seq: row.Seq, Problem: row.Problem, Item: runstate.NoItem} // it says nothing that can be right
		}
	}
	out.Rows = d.rows[:min(len(d.rows), domain.MaxDamagedRows)]
	out.Steps = v.lostSteps(d)
	return &out
}

// lostSteps are the steps that began or ended behind the last checkpoint, in the
// order in which rows speak of them first.
func (v *view) lostSteps(d *damagedJournal) []domain.LostStep {
	type key struct {
		node        string
		visit, item int
	}
	steps, at := []domain.LostStep{}, map[key]int{}
	note := func(s domain.LostStep, sure bool) {
		i, ok := v.prog.Index[s.Node]
		if !ok || s.Visit < 1 {
			return // of another version, or not of a node
		}
		static := v.env.staticEffect(v.prog, &v.prog.Nodes[i])
		if said := planner.Effect(s.Effect); said == "" || !sure && (!touches(said) || static.Stricter(said)) {
			s.Effect = string(static) // what a damaged row says makes nothing harmless
		}
		k := key{s.Node, s.Visit, s.Item}
		j, known := at[k]
		if !known {
			at[k] = len(steps)
			steps = append(steps, s)
			return
		}
		steps[j].Status, steps[j].Row, steps[j].Effect = s.Status, s.Row, s.Effect // a later row knows more
	}
	intact := func(row *domain.Entry) {
		s := domain.LostStep{Node: row.Node, Visit: row.Visit, Item: row.Item, Effect: row.Effect, Row: row.Seq}
		switch {
		case row.Kind == domain.EntryIntent, row.Kind == domain.EntrySubstep, row.Kind == domain.EntryResult && row.Status == domain.NodePending:
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
	for i := range d.good {
		if k := &d.good[i]; k.Kind == domain.EntryIntent || k.Kind == domain.EntryWait {
			if w := v.open(k); w != nil && w.Phase != runstate.PhaseReady {
				intact(k)
			}
		}
	}
	after := d.after
	for _, row := range d.rows {
		for len(after) > 0 && after[0].Seq < row.Seq {
			intact(&after[0])
			after = after[1:]
		}
		switch row.Kind {
		case domain.EntryIntent, domain.EntryWait, domain.EntrySubstep, domain.EntryResult:
			note(domain.LostStep{Node: row.Node, Visit: row.Visit, Item: row.Item, Effect: row.Effect, Row: row.Seq}, row.Problem == domain.RowValue || row.Problem == domain.RowMisfit)
		}
	}
	for i := range after {
		intact(&after[i])
	}
	return steps
}

// open is the work that a row of the view began, if it is still open.
func (v *view) open(row *domain.Entry) *runstate.Step {
	k, err := v.s.Key(row)
	if err != nil {
		return nil
	}
	return v.s.Open[k]
}

// Why steps run again in a fork from before the damage.
const (
	whyDamaged = "the row that would tell how it ended is damaged"
	whyOpen    = "no row that can be trusted says how it ended"
	whyBehind  = "it ended behind the damaged row"
)

// lost adds why steps run again that ran behind the damage.
func (v *view) lost(why map[string]string) {
	if v.damage == nil {
		return
	}
	for _, s := range v.damage.Steps {
		if _, known := why[s.Node]; known {
			continue
		}
		switch s.Status {
		case "":
			why[s.Node] = whyDamaged
		case domain.NodeRunning, domain.NodeWaiting, domain.NodeInDoubt:
			why[s.Node] = whyOpen
		default:
			why[s.Node] = whyBehind
		}
	}
}

// unreadable is the damage of a journal of which nothing more is known.
func unreadable(cause error) *domain.Damage {
	return &domain.Damage{Message: cause.Error(), Checkpoint: domain.ForkPoint{Label: "input", Closed: true}, Rows: []domain.DamagedRow{}, Steps: []domain.LostStep{}}
}

// ReasonDamaged refines the code of a refusal: the journal of the run is damaged.
const ReasonDamaged = "damaged"

// checkpointName is a checkpoint in a sentence.
func checkpointName(p domain.ForkPoint) string {
	if p.Seq == 0 {
		return "its input"
	}
	return fmt.Sprintf("checkpoint %d (%s)", p.Seq, p.Label)
}

// refuseDamaged says that something cannot be done to a run whose journal is damaged.
func refuseDamaged(run string, d *domain.Damage, code domain.Code, doing string) *domain.Error {
	if len(d.Parts) > 0 {
		err := domain.Errorf(code, "%s: %s of the run is damaged: %s", doing, d.Parts[0].Part, d.Parts[0].Message)
		err.Reason = ReasonDamaged
		return err.Suggest("restore a backup, or start a new run of its plan; this run stays as it is")
	}
	err := domain.Errorf(code, "%s: journal row %d is damaged; %s is the last good one", doing, d.Row, checkpointName(d.Checkpoint))
	err.Reason = ReasonDamaged
	return err.Suggest("fork the run from there: kairos fork %s --at %d --preview says what runs again; the damaged run stays as it is", domain.ShortID(run), d.Checkpoint.Seq)
}

// beyond refuses a fork that would keep damaged rows.
func (v *view) beyond(at int64) error {
	return refuseDamaged(v.run.ID, v.damage, domain.CodeConflict, fmt.Sprintf("a fork cannot keep position %d", at))
}

// damagedVerb previews what moves no work: a damaged run can be ended and taken out
// of the lists, nothing else.
func (v *view) damagedVerb(req domain.VerbRequest) (domain.Preview, error) {
	if err := endsDamaged(v.run, req, v.damage); err != nil {
		return domain.Preview{}, err
	}
	p := v.blank(req.Action)
	p.Allowed = true
	lists{}.fill(&p)
	return p, nil
}

// endsDamaged refuses what cannot be done to a damaged run.
func endsDamaged(r domain.Run, req domain.VerbRequest, d *domain.Damage) error {
	final := r.Status.Final()
	switch {
	case req.Action == domain.ActionResume:
		return refuseDamaged(r.ID, d, domain.CodeNotResumable, "the run cannot be resumed")
	case req.Action == domain.ActionCancel && final:
		return domain.Errorf(domain.CodeConflict, "nothing to cancel; the run is %s", r.Status)
	case req.Action == domain.ActionDelete && !final:
		return domain.Errorf(domain.CodeConflict, "a run that is not over cannot be deleted").Suggest("cancel it first")
	case req.Action == domain.ActionDelete && !r.DeletedAt.IsZero():
		return domain.Errorf(domain.CodeConflict, "the run was deleted before")
	case req.Action == domain.ActionCancel, req.Action == domain.ActionDelete:
		return nil
	}
	whole := "journal"
	if len(d.Parts) > 0 {
		whole = "run"
	}
	return refuseDamaged(r.ID, d, domain.CodeConflict, fmt.Sprintf("%s needs the whole %s", req.Action, whole))
}

// asideAt is what the row of a damaged run says once it is put aside.
func asideAt(d *domain.Damage) (headline, node string) {
	if len(d.Parts) > 0 {
		return fmt.Sprintf("what the run was started with is damaged (%s); it cannot go on", d.Parts[0].Part), ""
	}
	return fmt.Sprintf("journal row %d is damaged; the run can go on as a fork from %s", d.Row, checkpointName(d.Checkpoint)), d.Rows[0].Node
}

// damagedDetail is what a damaged run's page shows. One that is not over is shown
// as it stands once it is put aside: it takes no answer, and does nothing.
func (v *view) damagedDetail() domain.RunDetail {
	if r := &v.run; !r.Status.Final() {
		r.Status, r.WaitReason, r.DueAt = domain.RunWaiting, domain.WaitQuarantined, time.Time{}
		r.Headline, r.Node = asideAt(v.damage)
	}
	d := domain.RunDetail{Run: v.run, Journal: v.journal, Damage: v.damage}
	if v.run.Status == domain.RunWaiting {
		d.Waits = []domain.Wait{{Item: runstate.NoItem, Reason: v.run.WaitReason, Message: v.run.Headline}}
	}
	return d
}

// setAside parks a run whose journal cannot be trusted: it waits for a person,
// holds nothing, and is not tried again (RELIABILITY: bit rot). It answers all that
// was asked of it, and reports false when cause is about something else.
func (a *actor) setAside(cause error) bool {
	if a.run.ID != a.id {
		return false
	}
	ctx := context.WithoutCancel(a.e.base)
	v, is := a.e.salvage(ctx, a.id, cause, a.e.legible)
	if !is {
		return false
	}
	a.run = v.run
	a.e.log.Error("the journal of a run is damaged; the run is put aside", "run_id", a.id, "row", v.damage.Row, "last_good", v.damage.Good, "err", cause)
	if err := a.park(ctx, v); err != nil {
		a.giveUp(err)
		return true
	}
	a.dropped = true
	for !a.e.evict(a) {
		a.dismiss(a.take(), func(m answerable) {
			if verb, ok := m.(verbMsg); ok {
				m.answer(a.endDamaged(ctx, v, verb))
				return
			}
			m.answer(refuseDamaged(a.id, v.damage, domain.CodeConflict, "the run cannot go on"))
		})
	}
	return true
}

// park records that the run waits for a person, and takes its questions back: no
// answer to them would lead anywhere. Its journal gets no row: there is none that it
// could follow.
func (a *actor) park(ctx context.Context, v *view) error {
	r := &a.run
	if r.Status.Final() {
		return nil
	}
	aside := r.Status == domain.RunWaiting && r.WaitReason == domain.WaitQuarantined
	headline, node := asideAt(v.damage)
	questions, err := a.openQuestions(ctx, headline)
	if err != nil {
		return err
	}
	if aside && len(questions) == 0 {
		return nil
	}
	d := v.damage
	record := domain.AuditRecord{Action: "run.damaged", Actor: domain.System.Name, Surface: domain.System.Surface, Run: a.id, Result: "failed", Reason: d.Message,
		Detail: detail(map[string]any{"row": d.Row, "lastGood": d.Good, "checkpoint": d.Checkpoint.Seq, "damaged": d.Bad, "parts": d.Parts, "questions": len(questions)})}
	c := domain.Checkpoint{Run: a.id, Fence: r.LastSeq, Approvals: questions, Audit: []domain.AuditRecord{record},
		Patch: &domain.RunPatch{Status: domain.RunWaiting, WaitReason: domain.WaitQuarantined, Headline: &headline, Node: &node, DueAt: &time.Time{}}}
	if !aside {
		c.Audit = append(c.Audit, statusRecord(a.id, domain.RunWaiting, domain.WaitQuarantined, headline))
	}
	if err := a.e.store.Commit(ctx, c); err != nil {
		return err
	}
	r.Status, r.WaitReason, r.Headline, r.Node = domain.RunWaiting, domain.WaitQuarantined, headline, node
	a.e.timers.set(a.id, time.Time{})
	a.e.changed(a.id)
	return nil
}

// endDamaged cancels or deletes a damaged run, without a row in its journal.
func (a *actor) endDamaged(ctx context.Context, v *view, m verbMsg) error {
	r, req := &a.run, m.req
	if req.Rev != 0 && req.Rev != r.LastSeq {
		return domain.Errorf(domain.CodeStale, "the run has moved on from revision %d to %d", req.Rev, r.LastSeq).Suggest("look at it again")
	}
	if err := endsDamaged(*r, req, v.damage); err != nil {
		return err
	}
	now, off := a.e.now(), false
	c := domain.Checkpoint{Run: a.id, Fence: r.LastSeq, Audit: []domain.AuditRecord{{Action: "run." + string(req.Action), Actor: m.actor.Name, Surface: m.actor.Surface,
		Request: m.actor.Request, Run: a.id, Reason: req.Reason, Detail: detail(map[string]any{"damagedRow": v.damage.Row})}}}
	if req.Action == domain.ActionDelete {
		c.Patch = &domain.RunPatch{DeletedAt: &now}
		if err := a.e.store.Commit(ctx, c); err != nil {
			return err
		}
		r.DeletedAt = now
		return nil
	}
	headline := "cancelled; its journal is damaged"
	if len(v.damage.Parts) > 0 {
		headline = "cancelled; what it was started with is damaged"
	}
	c.Patch = &domain.RunPatch{Status: domain.RunCancelled, Headline: &headline, EndedAt: &now, DueAt: &time.Time{}, Paused: &off}
	c.Audit = append(c.Audit, statusRecord(a.id, domain.RunCancelled, "", headline))
	var err error
	if c.Approvals, err = a.openQuestions(ctx, headline); err != nil {
		return err
	}
	if err := a.e.store.Commit(ctx, c); err != nil {
		return err
	}
	r.Status, r.WaitReason, r.EndedAt, r.Paused = domain.RunCancelled, "", now, false
	a.e.sched.ended(a.id, a.concurrencyKey())
	a.e.changed(a.id)
	if p := r.Parent; p != nil {
		a.e.post(p.Run, childMsg{run: a.id})
	}
	a.e.background(func() { a.e.cancelChildren(a.id) })
	return nil
}

// openQuestions takes back what is asked in a run's name, and says why.
func (a *actor) openQuestions(ctx context.Context, why string) ([]domain.Approval, error) {
	list, err := a.e.store.Approvals(ctx, domain.ApprovalFilter{Run: a.id, Status: "open"})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		p := &list.Items[i]
		p.Status, p.DecidedAt, p.DecidedBy, p.Comment = "cancelled", a.e.now(), domain.System.Name, why
	}
	return list.Items, nil
}

// Examine looks at a run of which something on the disk was found to be damaged. One
// that is not over is put aside when that is so, by whoever takes it up; one that is
// at work goes on by what it has in memory until it comes to rest.
func (e *Engine) Examine(ctx context.Context, run string) error {
	if e.opts.OwnRunsOnly {
		return nil
	}
	r, err := e.store.Run(ctx, run)
	if err != nil {
		return err
	}
	if !r.Status.Final() && !e.post(r.ID, timerMsg{}) {
		return e.notOpen()
	}
	return nil
}

// cancelChildren cancels the children of a run that cannot tell which they are.
func (e *Engine) cancelChildren(run string) {
	children, err := e.store.LiveChildren(context.WithoutCancel(e.base), run)
	if err != nil {
		e.log.Warn("the children of a damaged run cannot be found", "run_id", run, "err", err)
		return
	}
	for _, id := range children {
		e.cancelChild(id)
	}
}
