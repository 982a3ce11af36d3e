package engine

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/internal/runstate"
)

// This file handles runs with a damaged journal. kairosd never uses or overwrites damaged rows: a
// journal is append-only, and the audit log contains a digest of every row. Such a run does not
// continue. A fork of the rows before the damage can, and its preview shows which steps run again.

// quarantineDamaged quarantines a run with a damaged journal, answers all its messages, and frees
// its slots. It returns false if cause is another error.
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
	if err := d.quarantine(ctx); err != nil {
		a.abandon(err)
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

// damaged is a run with a damaged journal. It has no machine.
type damaged struct {
	e    *Engine
	id   string
	view *preview.View
}

// quarantine quarantines the run, and closes its approval requests, because an answer would have no
// effect. It writes no row, because there is no intact row to follow.
func (d *damaged) quarantine(ctx context.Context) error {
	r, v := &d.view.Run, d.view
	if r.Status.Final() {
		return nil
	}
	quarantined := r.Status == domain.RunWaiting && r.WaitReason == domain.WaitQuarantined
	message, node := preview.QuarantineMessage(v.Damage)
	headline := message.String()
	questions, err := d.openApprovals(ctx, message)
	if err != nil {
		return err
	}
	if quarantined && len(questions) == 0 {
		return nil
	}
	record := domain.AuditRecord{
		Action: "run.damaged",
		Actor:  domain.System.Name,
		Source: domain.System.Source,
		Run:    d.id,
		Result: "failed",
		Reason: v.Damage.Message,
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
	if !quarantined {
		c.Audit = append(c.Audit, runstate.StatusRecord(d.id, domain.RunWaiting, domain.WaitQuarantined, message))
	}
	if err := d.e.store.Commit(ctx, c); err != nil {
		return err
	}
	r.Status, r.WaitReason, r.Node = domain.RunWaiting, domain.WaitQuarantined, node
	r.Headline, r.StatusMessage = headline, message
	d.e.timers.Set(d.id, time.Time{})
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
		Audit: []domain.AuditRecord{{Action: "run." + string(req.Action), Actor: m.actor.Name, Source: m.actor.Source,
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
		message = domain.Messagef("cancelled; its start data is damaged")
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
	if c.Approvals, err = d.openApprovals(ctx, message); err != nil {
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

// openApprovals returns the pending approval requests of the run, closed with the given reason.
func (d *damaged) openApprovals(ctx context.Context, why domain.Message) ([]domain.Approval, error) {
	list, err := approvalsOf(ctx, d.e.store, d.id, "pending")
	for i := range list {
		p := &list[i]
		p.Status, p.DecidedAt, p.DecidedBy, p.Comment, p.Text = "cancelled", d.e.now(), domain.System.Name, why.String(), why
	}
	return list, err
}

// CheckDamage checks a run after damaged data was found on disk. A damaged unfinished run is
// quarantined when it is loaded. An active run continues with the data in memory until it is idle.
func (e *Engine) CheckDamage(ctx context.Context, run string) error {
	if e.opts.OwnRunsOnly || e.opts.Remote != nil {
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
