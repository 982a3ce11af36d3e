package engine

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/planner/walk"
)

const timeUnit = time.Microsecond

// verbMsg asks a run's runner for an act.
type verbMsg struct {
	actor domain.Actor
	req   domain.VerbRequest
	reply reply[done]
}

// resolveMsg settles an attempt in doubt.
type resolveMsg struct {
	actor domain.Actor
	req   domain.ResolveRequest
	reply reply[done]
}

func (m verbMsg) answer(err error)    { m.reply.give(done{}, err) }
func (m resolveMsg) answer(err error) { m.reply.give(done{}, err) }

// Act does what a VerbRequest asks and returns the run it is about: the same
// run, or the new one of a rerun or fork.
func (e *Engine) Act(ctx context.Context, actor domain.Actor, req domain.VerbRequest) (domain.Run, error) {
	if err := preview.CheckRequest(req); err != nil {
		return domain.Run{}, err
	}
	if req.Action == domain.ActionRelease {
		if err := e.store.MayRelease(ctx, actor); err != nil {
			return domain.Run{}, err
		}
	}
	if req.Action == domain.ActionRerun || req.Action == domain.ActionFork {
		return e.newRun(ctx, actor, req)
	}
	m := verbMsg{actor, req, newReply[done]()}
	if _, err := askRun(ctx, e, req.Run, m, m.reply); err != nil {
		return domain.Run{}, err
	}
	if req.Action == domain.ActionCancel {
		return e.settledRun(ctx, req.Run)
	}
	return e.store.Run(ctx, req.Run)
}

// settledRun waits for the end of a cancelled run.
func (e *Engine) settledRun(ctx context.Context, run string) (domain.Run, error) {
	limit := time.NewTimer(e.opts.CancelGrace + time.Second)
	defer limit.Stop()
	for {
		changed, forget := e.watchers.watch(run)
		r, err := e.store.Run(ctx, run)
		if err != nil || r.Status.Final() {
			forget()
			return r, err
		}
		select {
		case <-changed:
		case <-limit.C:
			forget()
			return r, nil
		case <-ctx.Done():
			forget()
			return r, nil
		case <-e.stopped:
			forget()
			return r, nil
		}
		forget()
	}
}

// operate handles an operator's message. What became of the run so far is decided
// first: the last step's result may be in the checkpoint being put together.
func (a *runner) operate(do func()) {
	a.flush() //seed:flush-first
	do()
}

// answerLater answers once all that the answer rests on is durable, also where it
// refuses.
func (a *runner) answerLater(m answerable, refusal error) {
	a.pipe.after(func(err error) { m.answer(cmp.Or(err, refusal)) })
}

// conflict says that the run is not where the verb needs it to be.
func (a *runner) conflict(format string, args ...any) error {
	state := string(a.run.Status)
	if a.run.Status == domain.RunWaiting {
		state += " (" + string(a.run.WaitReason) + ")"
	}
	return domain.Errorf(domain.CodeConflict, "%s; the run is %s", fmt.Sprintf(format, args...), state)
}

// checkRev refuses an act on a run that its runner has not seen as it is. What
// taking the run up has recorded does not count as a change.
func (a *runner) checkRev(rev int64) error {
	if rev == 0 || rev == a.s.Seq || rev == a.loaded && a.s.Seq == a.recovered {
		return nil
	}
	return domain.Errorf(domain.CodeStale, "the run has moved on from revision %d to %d", rev, a.s.Seq).Suggest("look at it again")
}

func (a *runner) act(m verbMsg) error {
	r := m.req
	if err := a.checkRev(r.Rev); err != nil {
		return err
	}
	if a.stopping {
		return a.e.notOpen()
	}
	if a.ended && r.Action != domain.ActionResume && r.Action != domain.ActionDelete {
		return a.conflict("nothing to %s", r.Action)
	}
	record := domain.AuditRecord{Action: "run." + string(r.Action), Actor: m.actor.Name, Surface: m.actor.Surface, Request: m.actor.Request, Run: a.id, Reason: r.Reason}
	row := func(p runstate.VerbDecision) {
		if a.pipe.hasFinal {
			a.flush()
		}
		a.verbRow(p, m.actor.Name, r.Reason)
	}
	switch r.Action {
	case domain.ActionCancel:
		if a.s.Cancelled {
			return a.conflict("the run is being cancelled already")
		}
		row(runstate.VerbDecision{Verb: runstate.VerbCancel})
		off := false
		if a.run.Paused {
			a.run.Paused, patchOf(&a.pipe.next).Paused = false, &off
		}
		a.cancelOpen()
	case domain.ActionPause:
		if a.s.Paused {
			return a.conflict("the run is paused already")
		}
		on := true
		row(runstate.VerbDecision{Verb: runstate.VerbPause})
		a.run.Paused, patchOf(&a.pipe.next).Paused = true, &on
		a.freeNodes()
	case domain.ActionContinue:
		if !a.s.Paused {
			return a.conflict("the run is not paused")
		}
		row(runstate.VerbDecision{Verb: runstate.VerbContinue})
		a.unpause()
	case domain.ActionRetryNow:
		if !a.s.HasWait(domain.WaitRetry) {
			return a.conflict("no retry is pending")
		}
		row(runstate.VerbDecision{Verb: runstate.VerbRetryNow})
		a.due()
	case domain.ActionRelease:
		if !a.s.Quarantined && !a.s.Held {
			return a.conflict("the run is neither held nor quarantined")
		}
		row(runstate.VerbDecision{Verb: runstate.VerbRelease})
		a.released()
		a.due()
	case domain.ActionStartNow:
		if !a.early() {
			return a.conflict("the run waits for no time to start at")
		}
		row(runstate.VerbDecision{Verb: runstate.VerbStartNow})
		now := a.e.now()
		a.run.StartedAt, patchOf(&a.pipe.next).StartedAt = now, &now
		a.due()
	case domain.ActionLimits:
		limits, err := runstate.RaisedLimits(a.run.Limits, a.spent(), r)
		if err != nil {
			return err
		}
		record.Detail = domain.ChangeDetail(domain.ViewLimits(a.run.Limits), domain.ViewLimits(limits))
		row(runstate.VerbDecision{Verb: runstate.VerbLimits, Limits: &limits})
		a.run.Limits, patchOf(&a.pipe.next).Limits = limits, &limits
		a.budget = ""
		a.armDeadline()
		a.feed()
	case domain.ActionDelete:
		if !a.ended {
			return a.conflict("a run that is not over cannot be deleted").(*domain.Error).Suggest("cancel it first")
		}
		if !a.run.DeletedAt.IsZero() {
			return a.conflict("the run was deleted before")
		}
		now := a.e.now()
		patchOf(&a.pipe.next).DeletedAt, a.run.DeletedAt = &now, now
	case domain.ActionResume:
		if a.ended {
			return a.resume(m, record)
		}
		if err := a.resumeWaiting(m, row); err != nil {
			return err
		}
	}
	failpoint.Hit("verb.before")
	a.record(r.Receipt, a.id, record)
	return nil
}

// record adds to the checkpoint that is put together what tells of an operation: its
// audit records and, if the request had an idempotency key, the receipt.
func (a *runner) record(r *domain.Receipt, object string, records ...domain.AuditRecord) {
	next := &a.pipe.next
	next.Audit = append(next.Audit, records...)
	if r != nil {
		kept := *r
		kept.Object = object
		next.Receipts = append(next.Receipts, kept) //seed:receipt
	}
}

// released takes up what a held or quarantined run waits for.
func (a *runner) released() {
	a.reopenApprovals()
	a.lookForChildren() // nobody did while it was set aside
}

func (a *runner) unpause() {
	off := false
	a.run.Paused, patchOf(&a.pipe.next).Paused = false, &off
	a.due()
}

// cancelOpen settles everything that does not run and tells what runs to end.
func (a *runner) cancelOpen() {
	for _, t := range a.running {
		t.cancel(ErrCancelled)
	}
	for _, w := range a.s.OpenSteps() {
		if a.running[w.StepKey] != nil {
			continue
		}
		if w.Phase == runstate.PhaseInDoubt {
			a.settle(w, domain.NodeCancelled, nil, w.Failure, nil) // the doubt stays
			continue
		}
		a.cancelWork(w)
	}
	a.closeFans()
	a.pipe.hasFinal = len(a.pipe.next.Entries) > 0
	a.freeNodes()
}

// closeFans settles foreach visits of a cancelled run of which no item is open
// and none will start.
func (a *runner) closeFans() {
	if !a.s.Cancelled {
		return
	}
	for _, v := range a.s.OpenForeach() {
		if f := a.s.Foreach[v]; f != nil && f.OpenItems == 0 {
			a.settleVisit(v, domain.NodeCancelled, nil, nil)
		}
	}
}

// resume continues a failed, cancelled or waiting run.
func (a *runner) resume(m verbMsg, record domain.AuditRecord) error {
	if a.run.Status == domain.RunCompleted {
		return a.conflict("a completed run has nothing to resume").(*domain.Error).Suggest("rerun or fork it")
	}
	if !a.run.DeletedAt.IsZero() {
		return preview.DeletedError()
	}
	if !a.run.PurgedAt.IsZero() {
		return preview.PurgedError(a.run)
	}
	view, err := a.view(context.WithoutCancel(a.e.base)) //seed:resume-view
	if err != nil {
		return err
	}
	pre, reset, asked, err := view.Resume(m.req)
	if err != nil {
		return err
	}
	if m.req.Digest != "" && m.req.Digest != pre.Digest {
		return preview.StaleError()
	}
	e := domain.Entry{Kind: domain.EntryReset, Item: runstate.NoItem, Actor: m.actor.Name, Reason: m.req.Reason, At: a.e.now(), Decision: runstate.MustJSON(reset)}
	a.add(e)
	if asked != nil {
		a.verbRow(runstate.VerbDecision{Verb: runstate.VerbOptions, Options: asked}, m.actor.Name, m.req.Reason)
	}
	p := patchOf(&a.pipe.next)
	p.ClearError, p.EndedAt = true, &time.Time{}
	a.run.Error, a.run.EndedAt, a.ended = nil, time.Time{}, false
	a.budget, a.dueDirty = "", true
	letters := make([]byte, 0, maxPath)
	for _, d := range view.State.Settled[:min(len(view.State.Settled), maxPath)] { // the reset is taken into account
		letters = append(letters, letter(d.Status))
	}
	path := string(letters)
	p.Path, a.pathLen = &path, len(path)
	a.s.ForgetSettled()
	// The run leaves its final status before anything runs: it may end again at
	// once, if all that was left when it was cancelled has completed since.
	p.Status = domain.RunQueued
	a.run.Status, a.run.WaitReason = domain.RunQueued, ""
	a.record(m.req.Receipt, a.id, record, statusRecord(a.id, domain.RunQueued, "", ""))
	a.reopening = true
	a.flush()
	a.reopening = false
	return nil
}

// resumeWaiting lets go of whatever a person may let go of.
func (a *runner) resumeWaiting(m verbMsg, row func(runstate.VerbDecision)) error {
	if preview.HasResumeOptions(m.req) {
		return preview.NoOptionsError()
	}
	justTaken := a.offered != "" && a.s.Seq == a.recovered // what it became was announced
	if m.req.Digest != "" && !(justTaken && m.req.Digest == a.offered) {
		view, err := a.view(context.WithoutCancel(a.e.base))
		if err != nil {
			return err
		}
		if pre, _, _, err := view.Resume(m.req); err != nil {
			return err
		} else if pre.Digest != m.req.Digest {
			return preview.StaleError()
		}
	}
	acts := preview.ResumeVerbs(a.s)
	if len(acts) == 0 && (justTaken || a.e.env.Unattended(a.run)) && len(a.running) == 0 {
		return nil // being asked is enough: it goes on from here
	}
	if len(acts) == 0 {
		if b := a.s.Budget; b != nil {
			return a.conflict("%s", b.Message).(*domain.Error).Suggest("raise the limit")
		}
		waits := a.s.Waits()
		if a.run.Status == domain.RunWaiting && len(waits) > 0 {
			text, _ := runstate.WaitMessage(waits[0].Reason, waits)
			return a.conflict("nothing to resume: %s", text)
		}
		return a.conflict("the run is not stopped")
	}
	for _, verb := range acts {
		row(runstate.VerbDecision{Verb: verb})
		switch verb {
		case runstate.VerbRelease:
			a.released() //seed:resume-reopens
		case runstate.VerbContinue:
			a.unpause()
		}
	}
	a.due()
	return nil
}

// offer is the digest of what a resume of a run that a process left behind does.
func (e *Engine) offer(ctx context.Context, run string) string {
	v, err := e.View(ctx, run)
	if err != nil {
		return "" // the runner meets the same trouble
	}
	p, _, _, err := v.Resume(domain.VerbRequest{Run: run, Action: domain.ActionResume})
	if err != nil {
		return ""
	}
	return p.Digest
}

// executes reports whether an attempt of the run is under way in this engine.
func (e *Engine) executes(run string) bool {
	for key := range e.attempts.Range {
		if key.(*attempt).run == run {
			return true
		}
	}
	return false
}

// Resolve settles an attempt in doubt.
func (e *Engine) Resolve(ctx context.Context, actor domain.Actor, req domain.ResolveRequest) (domain.Run, error) {
	switch req.Action {
	case runstate.ActionHappened, runstate.ActionRetry, runstate.ActionSkip, runstate.ActionFail:
	default:
		return domain.Run{}, domain.Errorf(domain.CodeInvalid, "the action is %q; it must be happened, retry, skip or fail", req.Action)
	}
	if req.Action != runstate.ActionHappened && len(req.Output) > 0 {
		return domain.Run{}, domain.Errorf(domain.CodeInvalid, "only happened takes an output")
	}
	if _, err := runstate.Decode(req.Output); err != nil {
		return domain.Run{}, domain.Errorf(domain.CodeInvalid, "output: %w", err)
	}
	m := resolveMsg{actor, req, newReply[done]()}
	if _, err := askRun(ctx, e, req.Run, m, m.reply); err != nil {
		return domain.Run{}, err
	}
	return e.store.Run(ctx, req.Run)
}

func (a *runner) resolve(m resolveMsg) error {
	r := m.req
	if err := a.checkRev(r.Rev); err != nil {
		return err
	}
	i, ok := a.prog.Index[r.Node]
	if !ok {
		return domain.Errorf(domain.CodeNotFound, "the plan has no node %q", r.Node)
	}
	k := runstate.StepKey{VisitKey: walk.VisitKey{Node: i, Visit: max(r.Visit, 1)}, Item: r.Item}
	if a.prog.Nodes[i].Foreach == nil {
		k.Item = runstate.NoItem // clients may leave it out
	}
	w, d := a.s.Open[k], a.s.Doubts[k]
	attempt, calls := 0, []domain.OpenCall(nil)
	switch {
	case w != nil && w.Phase == runstate.PhaseInDoubt:
		attempt, calls = w.Attempt, w.OpenCalls()
	case d != nil && d.Resolution == nil:
		attempt, calls = d.Attempt, d.Calls
	default:
		return a.conflict("visit %d of node %q is not in doubt", k.Visit, r.Node)
	}
	if r.Attempt != 0 && r.Attempt != attempt {
		return domain.Errorf(domain.CodeStale, "attempt %d is in doubt, not attempt %d", attempt, r.Attempt).Suggest("look at it again")
	}
	if a.pipe.hasFinal {
		a.flush()
	}
	e := a.entry(domain.EntryResolve, k)
	e.Decision, e.Attempt, e.Actor, e.Reason = runstate.ResolveDecision{Action: r.Action}.JSON(), attempt, m.actor.Name, r.Reason
	if r.Action == runstate.ActionHappened {
		e.Output = r.Output
		if len(e.Output) == 0 {
			e.Output = domain.RawJSON("null")
		}
	}
	a.add(e)
	about := map[string]any{"action": r.Action, "visit": k.Visit, "attempt": attempt}
	if len(calls) > 0 {
		about["calls"] = calls
	}
	a.record(r.Receipt, a.id, domain.AuditRecord{Action: "node.resolve", Actor: m.actor.Name, Surface: m.actor.Surface, Request: m.actor.Request, Run: a.id,
		Object: "node:" + r.Node, Reason: r.Reason, Detail: detail(about)})
	if w != nil {
		a.applyAnswer(w, runstate.Resolution{Action: r.Action, Output: e.Output})
	}
	return nil
}

// applyAnswer does what a person said of an attempt in doubt.
func (a *runner) applyAnswer(w *runstate.Step, said runstate.Resolution) {
	w.Resolution = nil
	switch said.Action {
	case runstate.ActionHappened:
		out, err := runstate.Decode(said.Output)
		if err != nil {
			out = nil // it was checked when it was given
		}
		a.final(w, domain.NodeCompleted, out, nil, func(e *domain.Entry) { e.Reason = cmp.Or(said.Given, runstate.ReasonHappened) })
	case runstate.ActionSkip:
		a.final(w, domain.NodeSkipped, nil, nil, func(e *domain.Entry) { e.Reason = runstate.ReasonSkipped })
	case runstate.ActionFail:
		f := w.Failure
		if f == nil || f.Code == runstate.CodeInterrupted {
			f = &domain.Failure{Code: walk.CodeFailed, Message: runstate.ReasonFailed}
		}
		a.final(w, domain.NodeFailed, nil, f, func(e *domain.Entry) { e.Reason = runstate.ReasonFailed })
	case runstate.ActionRetry:
		a.ready.push(w.StepKey)
	}
	a.dueDirty = true
}

// statusRecord is the audit record of a run's change of status.
func statusRecord(run string, status domain.RunStatus, reason domain.WaitReason, headline string) domain.AuditRecord {
	return failureRecord(run, status, reason, headline, "")
}

// failureRecord is statusRecord with why a step plan failed.
func failureRecord(run string, status domain.RunStatus, reason domain.WaitReason, headline, failure string) domain.AuditRecord {
	d := map[string]any{"status": status}
	if reason != "" {
		d["waitReason"] = reason
	}
	if headline = strings.ToValidUTF8(runstate.ClipText(headline, 500), ""); headline != "" {
		d["headline"] = headline
	}
	if failure != "" {
		d["failureReason"] = failure
	}
	return domain.AuditRecord{Action: "run.status", Actor: domain.System.Name, Surface: domain.System.Surface, Run: run, Detail: detail(d)}
}
