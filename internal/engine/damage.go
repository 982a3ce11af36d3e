package engine

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/internal/runstate"
)

// This file is about runs whose journal is damaged. What is damaged is never taken
// for good, and nothing of it is written over: a journal is append-only and every
// row stands in the audit log by its digest. Such a run does not continue; a fork of
// the rows before the damage does, as a run of its own, and its preview states what
// happens again.

// quarantineDamaged parks a run whose journal cannot be trusted: it waits for a person,
// holds nothing, and is not tried again (RELIABILITY: bit rot). All messages to the
// run get an answer, and reports false when cause is about something else.
func (a *runner) quarantineDamaged(cause error) bool {
	ctx := context.WithoutCancel(a.e.base)
	v, is := a.e.Salvage(ctx, a.id, cause, a.e.CompileReadOnly)
	if !is {
		return false
	}
	d := &damaged{e: a.e, id: a.id, view: v}
	a.e.log.Error(
		"the journal of a run is damaged; the run is quarantined",
		"run_id",
		a.id,
		"row",
		v.Damage.Row,
		"last_good",
		v.Damage.Good,
		"err",
		cause,
	)
	if err := d.park(ctx); err != nil {
		a.giveUp(err)
		return true
	}
	a.dropped = true
	for !a.e.runs.evict(a) {
		a.dismiss(a.inbox.take(), func(m answerable) {
			if verb, ok := m.(actionMsg); ok {
				m.answer(d.end(ctx, verb))
				return
			}
			m.answer(preview.RefuseDamaged(a.id, v.Damage, domain.CodeConflict, "the run cannot continue"))
		})
	}
	return true
}

// damaged is a run whose journal cannot be trusted. It has no machine.
type damaged struct {
	e    *Engine
	id   string
	view *preview.View
}

// park records that the run waits for a person, and takes its questions back: no
// answer to them would lead anywhere. Its journal gets no row: there is none that it
// could follow.
func (d *damaged) park(ctx context.Context) error {
	r, v := &d.view.Run, d.view
	if r.Status.Final() {
		return nil
	}
	aside := r.Status == domain.RunWaiting && r.WaitReason == domain.WaitQuarantined
	message, node := preview.QuarantineMessage(v.Damage)
	headline := message.String()
	questions, err := d.openQuestions(ctx, message)
	if err != nil {
		return err
	}
	if aside && len(questions) == 0 {
		return nil
	}
	record := domain.AuditRecord{
		Action:  "run.damaged",
		Actor:   domain.System.Name,
		Surface: domain.System.Surface,
		Run:     d.id,
		Result:  "failed",
		Reason:  v.Damage.Message,
		Detail: detail(
			map[string]any{
				"row":        v.Damage.Row,
				"lastGood":   v.Damage.Good,
				"checkpoint": v.Damage.Checkpoint.Seq,
				"damaged":    v.Damage.Bad,
				"parts":      v.Damage.Parts,
				"questions":  len(questions),
			},
		),
	}
	c := domain.Checkpoint{Run: d.id, Fence: r.LastSeq, Approvals: questions, Audit: []domain.AuditRecord{record},
		Patch: &domain.RunPatch{
			Status:     domain.RunWaiting,
			WaitReason: domain.WaitQuarantined,
			Headline:   &headline,
			Message:    message,
			Node:       &node,
			DueAt:      &time.Time{},
		}}
	if !aside {
		c.Audit = append(c.Audit, runstate.StatusRecord(d.id, domain.RunWaiting, domain.WaitQuarantined, message))
	}
	if err := d.e.store.Commit(ctx, c); err != nil {
		return err
	}
	r.Status, r.WaitReason, r.Node = domain.RunWaiting, domain.WaitQuarantined, node
	r.Headline, r.StatusMessage = headline, message
	d.e.timers.set(d.id, time.Time{})
	d.e.watchers.changed(d.id, r.Status)
	return nil
}

// end cancels or deletes a damaged run, without a row in its journal.
func (d *damaged) end(ctx context.Context, m actionMsg) error {
	r, v, req := &d.view.Run, d.view, m.req
	if req.Rev != 0 && req.Rev != r.LastSeq {
		return domain.RunChanged(req.Rev, r.LastSeq)
	}
	if err := preview.CheckDamaged(*r, req, v.Damage); err != nil {
		return err
	}
	now, off := d.e.now(), false
	c := domain.Checkpoint{
		Run:   d.id,
		Fence: r.LastSeq,
		Audit: []domain.AuditRecord{{Action: "run." + string(req.Action), Actor: m.actor.Name, Surface: m.actor.Surface,
			Request: m.actor.Request, Run: d.id, Reason: req.Reason, Detail: detail(map[string]any{"damagedRow": v.Damage.Row})}},
	}
	if req.Action == domain.ActionDelete {
		c.Patch = &domain.RunPatch{DeletedAt: &now}
		if err := d.e.store.Commit(ctx, c); err != nil {
			return err
		}
		r.DeletedAt = now
		return nil
	}
	message := domain.Messagef("cancelled; its journal is damaged")
	if len(v.Damage.Parts) > 0 {
		message = domain.Messagef("cancelled; what it was started with is damaged")
	}
	headline := message.String()
	c.Patch = &domain.RunPatch{
		Status:   domain.RunCancelled,
		Headline: &headline,
		Message:  message,
		EndedAt:  &now,
		DueAt:    &time.Time{},
		Paused:   &off,
	}
	c.Audit = append(c.Audit, runstate.StatusRecord(d.id, domain.RunCancelled, "", message))
	var err error
	if c.Approvals, err = d.openQuestions(ctx, message); err != nil {
		return err
	}
	if err := d.e.store.Commit(ctx, c); err != nil {
		return err
	}
	r.Status, r.WaitReason, r.EndedAt, r.Paused = domain.RunCancelled, "", now, false
	d.e.sched.ended(d.id, concurrencyKey(r))
	d.e.watchers.changed(d.id, r.Status)
	if p := r.Parent; p != nil {
		d.e.post(p.Run, childMsg{run: d.id})
	}
	d.e.children.cancelExcept(d.id, nil)
	return nil
}

// openQuestions returns the open approval requests of the run, closed for the given reason.
func (d *damaged) openQuestions(ctx context.Context, why domain.Message) ([]domain.Approval, error) {
	list, err := approvalsOf(ctx, d.e.store, d.id, "open")
	for i := range list {
		p := &list[i]
		p.Status, p.DecidedAt, p.DecidedBy, p.Comment, p.Text = "cancelled", d.e.now(), domain.System.Name, why.String(), why
	}
	return list, err
}

// CheckDamage looks at a run of which something on the disk was found to be damaged. One
// that is not over is quarantined when that is so, when it is loaded; one that is
// at work continues by what it has in memory until it comes to rest.
func (e *Engine) CheckDamage(ctx context.Context, run string) error {
	if e.opts.OwnRunsOnly {
		return nil
	}
	r, err := e.store.Run(ctx, run)
	if err != nil {
		return err
	}
	if !r.Status.Final() && !e.post(r.ID, timerMsg{}) {
		return errNotOpen()
	}
	return nil
}
