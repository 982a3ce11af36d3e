package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/internal/runstate"
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

// damage takes apart the journal that cause speaks of. nil: cause is about
// something else, or the file gives no rows at all.
func (e *Engine) damage(ctx context.Context, r domain.Run, cause error) *preview.DamagedJournal {
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
	d := &preview.DamagedJournal{Good: rows[:n:n], After: rows[n:], Rows: bad}
	if at, ok := errors.AsType[runstate.InvalidRow](cause); ok {
		d.Cut(int64(at))
	}
	if len(d.Rows) == 0 {
		return nil
	}
	d.Message = cause.Error()
	return d
}

// salvaged is view, also of a run whose journal is damaged: then of the rows before
// the damage, with what is known of the rest.
func (e *Engine) salvaged(ctx context.Context, run string) (*preview.View, error) {
	v, err := e.view(ctx, run)
	if d, is := e.salvage(ctx, run, err, e.program); is {
		return d, nil
	}
	return v, err
}

// salvage is the view of a run whose journal is damaged, if that is what cause
// says.
func (e *Engine) salvage(ctx context.Context, run string, cause error, compile func(context.Context, string) (*runstate.Compiled, error)) (*preview.View, bool) {
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
		hash, err := e.versionAfter(ctx, r, d.Good)
		if err != nil {
			return nil, false
		}
		p, err := compile(ctx, hash)
		if err != nil {
			return nil, false
		}
		s, err := e.foldRun(ctx, p, r, input, d.Good, true)
		if at, ok := errors.AsType[runstate.InvalidRow](err); ok && at >= 1 && int64(at) <= int64(len(d.Good)) {
			d.Cut(int64(at))
			d.Message = err.Error()
			continue
		}
		if err != nil {
			return nil, false
		}
		v := &preview.View{Env: &e.env, Run: r, Program: p, Journal: d.Good, State: s, After: d.After}
		v.Damage = v.DescribeDamage(d)
		return v, true
	}
}

// halved is the view of a run that has lost its input or its settings: what it came
// to can be looked at, but nothing can be worked out from it.
func (e *Engine) halved(ctx context.Context, r domain.Run, cause error) *preview.View {
	journal, err := e.store.Journal(ctx, r.ID, 0) // those that can be trusted, if not all
	v := &preview.View{Env: &e.env, Run: r, Journal: journal, Damage: preview.UnreadableDamage(cause)}
	v.Damage.Parts, v.Damage.Good = r.Damaged, int64(len(journal))
	if err != nil {
		v.Damage.Message += "; " + err.Error()
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

// setAside parks a run whose journal cannot be trusted: it waits for a person,
// holds nothing, and is not tried again (RELIABILITY: bit rot). It answers all that
// was asked of it, and reports false when cause is about something else.
func (a *runner) setAside(cause error) bool {
	if a.run.ID != a.id {
		return false
	}
	ctx := context.WithoutCancel(a.e.base)
	v, is := a.e.salvage(ctx, a.id, cause, a.e.legible)
	if !is {
		return false
	}
	a.run = v.Run
	a.e.log.Error("the journal of a run is damaged; the run is put aside", "run_id", a.id, "row", v.Damage.Row, "last_good", v.Damage.Good, "err", cause)
	if err := a.park(ctx, v); err != nil {
		a.giveUp(err)
		return true
	}
	a.dropped = true
	for !a.e.runs.evict(a) {
		a.dismiss(a.inbox.take(), func(m answerable) {
			if verb, ok := m.(verbMsg); ok {
				m.answer(a.endDamaged(ctx, v, verb))
				return
			}
			m.answer(preview.RefuseDamaged(a.id, v.Damage, domain.CodeConflict, "the run cannot go on"))
		})
	}
	return true
}

// park records that the run waits for a person, and takes its questions back: no
// answer to them would lead anywhere. Its journal gets no row: there is none that it
// could follow.
func (a *runner) park(ctx context.Context, v *preview.View) error {
	r := &a.run
	if r.Status.Final() {
		return nil
	}
	aside := r.Status == domain.RunWaiting && r.WaitReason == domain.WaitQuarantined
	headline, node := preview.QuarantineMessage(v.Damage)
	questions, err := a.openQuestions(ctx, headline)
	if err != nil {
		return err
	}
	if aside && len(questions) == 0 {
		return nil
	}
	d := v.Damage
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
	a.e.watchers.changed(a.id)
	return nil
}

// endDamaged cancels or deletes a damaged run, without a row in its journal.
func (a *runner) endDamaged(ctx context.Context, v *preview.View, m verbMsg) error {
	r, req := &a.run, m.req
	if req.Rev != 0 && req.Rev != r.LastSeq {
		return domain.Errorf(domain.CodeStale, "the run has moved on from revision %d to %d", req.Rev, r.LastSeq).Suggest("look at it again")
	}
	if err := preview.CheckDamaged(*r, req, v.Damage); err != nil {
		return err
	}
	now, off := a.e.now(), false
	c := domain.Checkpoint{Run: a.id, Fence: r.LastSeq, Audit: []domain.AuditRecord{{Action: "run." + string(req.Action), Actor: m.actor.Name, Surface: m.actor.Surface,
		Request: m.actor.Request, Run: a.id, Reason: req.Reason, Detail: detail(map[string]any{"damagedRow": v.Damage.Row})}}}
	if req.Action == domain.ActionDelete {
		c.Patch = &domain.RunPatch{DeletedAt: &now}
		if err := a.e.store.Commit(ctx, c); err != nil {
			return err
		}
		r.DeletedAt = now
		return nil
	}
	headline := "cancelled; its journal is damaged"
	if len(v.Damage.Parts) > 0 {
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
	a.e.watchers.changed(a.id)
	if p := r.Parent; p != nil {
		a.e.post(p.Run, childMsg{run: a.id})
	}
	a.e.background(func() { a.e.cancelChildren(a.id) })
	return nil
}

// openQuestions takes back what is asked in a run's name, and says why.
func (a *runner) openQuestions(ctx context.Context, why string) ([]domain.Approval, error) {
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
