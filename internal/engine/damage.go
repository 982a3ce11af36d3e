package engine

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/preview"
)

// This file is about runs whose journal is damaged. What is damaged is never taken
// for good, and nothing of it is written over: a journal is append-only and every
// row stands in the audit log by its digest. Such a run does not go on; a fork of
// the rows before the damage does, as a run of its own, and its preview says what
// happens again.

// setAside parks a run whose journal cannot be trusted: it waits for a person,
// holds nothing, and is not tried again (RELIABILITY: bit rot). It answers all that
// was asked of it, and reports false when cause is about something else.
func (a *runner) setAside(cause error) bool {
	if a.run.ID != a.id {
		return false
	}
	ctx := context.WithoutCancel(a.e.base)
	v, is := a.e.Salvage(ctx, a.id, cause, a.e.CompileReadOnly)
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
