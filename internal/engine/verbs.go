package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/failpoint"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

const timeUnit = time.Microsecond

// verbMsg asks a run's actor for an act.
type verbMsg struct {
	actor kairos.Actor
	req   kairos.VerbRequest
	reply chan error
}

// resolveMsg settles an attempt in doubt.
type resolveMsg struct {
	actor kairos.Actor
	req   kairos.ResolveRequest
	reply chan error
}

func (m verbMsg) answer(err error)    { m.reply <- err }
func (m resolveMsg) answer(err error) { m.reply <- err }

// Act does what a VerbRequest asks and returns the run it is about: the same
// run, or the new one of a rerun or fork.
func (e *Engine) Act(ctx context.Context, actor kairos.Actor, req kairos.VerbRequest) (kairos.Run, error) {
	if err := e.allow(ctx, actor, kairos.RoleOperator, "run."+string(req.Action), req.Run, ""); err != nil {
		return kairos.Run{}, err
	}
	if err := checkVerb(req); err != nil {
		return kairos.Run{}, err
	}
	if req.Action == kairos.ActionRerun || req.Action == kairos.ActionFork {
		return e.newRun(ctx, actor, req)
	}
	m := verbMsg{actor, req, make(chan error, 1)}
	if !e.post(req.Run, m) {
		return kairos.Run{}, e.notOpen()
	}
	select {
	case err := <-m.reply:
		if err != nil {
			return kairos.Run{}, err
		}
		if req.Action == kairos.ActionCancel {
			return e.settledRun(ctx, req.Run)
		}
		return e.store.Run(ctx, req.Run)
	case <-ctx.Done():
		return kairos.Run{}, context.Cause(ctx)
	}
}

// settledRun waits for the end of a cancelled run.
func (e *Engine) settledRun(ctx context.Context, run string) (kairos.Run, error) {
	limit := time.NewTimer(e.opts.CancelGrace + time.Second)
	defer limit.Stop()
	for {
		changed, forget := e.watch(run)
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

// checkVerb refuses fields that the action has no use for.
func checkVerb(r kairos.VerbRequest) error {
	refuse := func(set bool, field string, allowed ...kairos.Action) error {
		if set && !slices.Contains(allowed, r.Action) {
			return kairos.Errorf(kairos.CodeInvalid, "%s does not take %s", r.Action, field)
		}
		return nil
	}
	switch r.Action {
	case kairos.ActionResume, kairos.ActionRerun, kairos.ActionFork, kairos.ActionCancel, kairos.ActionPause, kairos.ActionContinue,
		kairos.ActionRetryNow, kairos.ActionRelease, kairos.ActionStartNow, kairos.ActionDelete, kairos.ActionLimits:
	default:
		return kairos.Errorf(kairos.CodeInvalid, "unknown action %q", r.Action)
	}
	if r.At < 0 || r.Version < -1 {
		return kairos.Errorf(kairos.CodeInvalid, "at and version cannot be negative")
	}
	for _, err := range []error{
		refuse(r.At != 0, "at", kairos.ActionFork),
		refuse(len(r.Edits) > 0, "edits", kairos.ActionFork),
		refuse(len(r.Instead) > 0, "instead", kairos.ActionFork),
		refuse(r.Only != "", "only", kairos.ActionResume),
		refuse(r.Timeout != 0, "timeout", kairos.ActionResume),
		refuse(r.Attempts != 0, "attempts", kairos.ActionResume),
		checkOptions(r),
		refuse(r.Input != nil, "input", kairos.ActionFork, kairos.ActionRerun),
		refuse(r.Version != 0, "version", kairos.ActionFork, kairos.ActionRerun),
		refuse(r.Limits != (kairos.Limits{}), "limits", kairos.ActionLimits, kairos.ActionFork, kairos.ActionRerun),
		refuse(r.Labels != nil, "labels", kairos.ActionFork, kairos.ActionRerun),
	} {
		if err != nil {
			return err
		}
	}
	if r.Action == kairos.ActionLimits && r.Limits == (kairos.Limits{}) {
		return kairos.Errorf(kairos.CodeInvalid, "no limit is given")
	}
	if l := r.Limits; l.MaxSteps < 0 || l.MaxDuration < 0 || l.MaxTokens < 0 || l.MaxCost < 0 {
		return kairos.Errorf(kairos.CodeInvalid, "limits cannot be negative")
	}
	return nil
}

// verb handles messages that someone waits for.
func (a *actor) verb(m answerable) {
	switch m := m.(type) {
	case verbMsg:
		if err := a.act(m); err != nil {
			m.answer(err)
			return
		}
		a.after(m.answer)
	case resolveMsg:
		if err := a.resolve(m); err != nil {
			m.answer(err)
			return
		}
		a.after(m.answer)
	case decideMsg:
		a.decide(m)
	}
}

// conflict says that the run is not where the verb needs it to be.
func (a *actor) conflict(format string, args ...any) error {
	state := string(a.run.Status)
	if a.run.Status == kairos.RunWaiting {
		state += " (" + string(a.run.WaitReason) + ")"
	}
	return kairos.Errorf(kairos.CodeConflict, "%s; the run is %s", fmt.Sprintf(format, args...), state)
}

// checkRev refuses an act on a run that its actor has not seen as it is. What
// taking the run up has recorded does not count as a change.
func (a *actor) checkRev(rev int64) error {
	if rev == 0 || rev == a.s.seq || rev == a.loaded && a.s.seq == a.recovered {
		return nil
	}
	return kairos.Errorf(kairos.CodeStale, "the run has moved on from revision %d to %d", rev, a.s.seq).Suggest("look at it again")
}

func (a *actor) act(m verbMsg) error {
	r := m.req
	if err := a.checkRev(r.Rev); err != nil {
		return err
	}
	if a.stopping {
		return a.e.notOpen()
	}
	if a.ended && r.Action != kairos.ActionResume && r.Action != kairos.ActionDelete {
		return a.conflict("nothing to %s", r.Action)
	}
	record := kairos.AuditRecord{Action: "run." + string(r.Action), Actor: m.actor.Name, Surface: m.actor.Surface, Request: m.actor.Request, Run: a.id, Reason: r.Reason}
	row := func(p payload) {
		if a.hasFinal {
			a.flush()
		}
		a.verbRow(p, m.actor.Name, r.Reason)
	}
	switch r.Action {
	case kairos.ActionCancel:
		if a.s.cancelled {
			return a.conflict("the run is being cancelled already")
		}
		row(payload{Verb: "cancel"})
		off := false
		if a.run.Paused {
			a.run.Paused, patchOf(&a.next).Paused = false, &off
		}
		a.cancelOpen()
	case kairos.ActionPause:
		if a.s.paused {
			return a.conflict("the run is paused already")
		}
		on := true
		row(payload{Verb: "pause"})
		a.run.Paused, patchOf(&a.next).Paused = true, &on
		a.freeNodes()
	case kairos.ActionContinue:
		if !a.s.paused {
			return a.conflict("the run is not paused")
		}
		row(payload{Verb: "continue"})
		a.unpause()
	case kairos.ActionRetryNow:
		if !a.hasWait(kairos.WaitRetry) {
			return a.conflict("no retry is pending")
		}
		row(payload{Verb: "retry-now"})
		a.due()
	case kairos.ActionRelease:
		if !a.s.quarantined && !a.s.held {
			return a.conflict("the run is neither held nor quarantined")
		}
		if err := a.askAgain(); err != nil {
			return err
		}
		row(payload{Verb: "release"})
		a.due()
	case kairos.ActionStartNow:
		if !a.early() {
			return a.conflict("the run waits for no time to start at")
		}
		row(payload{Verb: "start-now"})
		now := a.e.now()
		a.run.StartedAt, patchOf(&a.next).StartedAt = now, &now
		a.due()
	case kairos.ActionLimits:
		limits := merge(a.run.Limits, r.Limits)
		record.Detail = kairos.ChangeDetail(kairos.ViewLimits(a.run.Limits), kairos.ViewLimits(limits))
		row(payload{Verb: "limits", Limits: &limits})
		a.run.Limits, patchOf(&a.next).Limits = limits, &limits
		a.budget = a.overBudget()
	case kairos.ActionDelete:
		if !a.ended {
			return a.conflict("a run that is not over cannot be deleted").(*kairos.Error).Suggest("cancel it first")
		}
		if !a.run.DeletedAt.IsZero() {
			return a.conflict("the run was deleted before")
		}
		now := a.e.now()
		patchOf(&a.next).DeletedAt, a.run.DeletedAt = &now, now
	case kairos.ActionResume:
		if a.ended {
			return a.resume(m, record)
		}
		if err := a.resumeWaiting(m, row); err != nil {
			return err
		}
	}
	failpoint.Hit("verb.before")
	a.next.Audit = append(a.next.Audit, record)
	return nil
}

func (a *actor) unpause() {
	off := false
	a.run.Paused, patchOf(&a.next).Paused = false, &off
	a.due()
}

func (a *actor) hasWait(reason kairos.WaitReason) bool {
	for _, w := range a.s.work {
		if w.phase == phaseWaiting && w.reason == reason {
			return true
		}
	}
	return false
}

// cancelOpen settles everything that does not run and tells what runs to end
// (SPEC 4.8).
func (a *actor) cancelOpen() {
	for _, t := range a.running {
		t.cancel(ErrCancelled)
	}
	for _, w := range a.s.sorted() {
		if a.running[w.workKey] != nil {
			continue
		}
		if w.phase == phaseDoubt {
			a.settle(w, kairos.NodeCancelled, nil, w.failure, nil) // the doubt stays (ruling 15)
			continue
		}
		a.cancelWork(w)
	}
	a.closeFans()
	a.hasFinal = len(a.next.Entries) > 0
	a.freeNodes()
}

// closeFans settles foreach visits of a cancelled run of which no item is open
// and none will start.
func (a *actor) closeFans() {
	if !a.s.cancelled {
		return
	}
	for _, v := range a.s.openFans() {
		if f := a.s.fans[v]; f != nil && f.open == 0 {
			a.settleVisit(v, kairos.NodeCancelled, nil, nil)
		}
	}
}

// wasDeleted refuses to go on with a run that no list shows.
func wasDeleted() error {
	return kairos.Errorf(kairos.CodeConflict, "the run was deleted").Suggest("rerun or fork it")
}

// resume continues a failed, cancelled or waiting run (SPEC 4.2, ruling 10).
func (a *actor) resume(m verbMsg, record kairos.AuditRecord) error {
	if a.run.Status == kairos.RunCompleted {
		return a.conflict("a completed run has nothing to resume").(*kairos.Error).Suggest("rerun or fork it")
	}
	if !a.run.DeletedAt.IsZero() {
		return wasDeleted()
	}
	if !a.run.PurgedAt.IsZero() {
		return purged(a.run)
	}
	ctx := context.WithoutCancel(a.e.base)
	view, err := a.e.view(ctx, a.id)
	if err != nil {
		return err
	}
	pre, reset, asked, err := view.resume(m.req)
	if err != nil {
		return err
	}
	if m.req.Digest != "" && m.req.Digest != pre.Digest {
		return stale()
	}
	e := kairos.Entry{Kind: kairos.EntryReset, Item: noItem, Actor: m.actor.Name, Reason: m.req.Reason, At: a.e.now(), Decision: mustJSON(reset)}
	a.add(e)
	if asked != nil {
		a.verbRow(payload{Verb: verbOptions, Options: asked}, m.actor.Name, m.req.Reason)
	}
	p := patchOf(&a.next)
	p.ClearError, p.EndedAt = true, &time.Time{}
	a.run.Error, a.run.EndedAt, a.ended = nil, time.Time{}, false
	a.budget, a.dueDirty = "", true
	letters := make([]byte, 0, maxPath)
	for _, d := range view.s.settled[:min(len(view.s.settled), maxPath)] { // the reset is taken into account
		letters = append(letters, letter(d.status))
	}
	path := string(letters)
	p.Path, a.pathLen = &path, len(path)
	a.s.noted()
	// The run leaves its final status before anything runs: it may end again at
	// once, if all that was left when it was cancelled has completed since.
	p.Status = kairos.RunQueued
	a.run.Status, a.run.WaitReason = kairos.RunQueued, ""
	a.next.Audit = append(a.next.Audit, record, statusRecord(a.id, kairos.RunQueued, "", ""))
	a.reopening = true
	a.flush()
	a.reopening = false
	return nil
}

// resumeWaiting lets go of whatever a person may let go of.
func (a *actor) resumeWaiting(m verbMsg, row func(payload)) error {
	if asksOptions(m.req) {
		return noOptions()
	}
	if m.req.Digest != "" {
		view, err := a.e.view(context.WithoutCancel(a.e.base), a.id)
		if err != nil {
			return err
		}
		if pre, _, _, err := view.resume(m.req); err != nil {
			return err
		} else if pre.Digest != m.req.Digest {
			return stale()
		}
	}
	acts := resumable(a.s)
	if len(acts) == 0 && a.e.unattended(a.run) && len(a.running) == 0 {
		return nil // being asked is enough: it goes on from here
	}
	if len(acts) == 0 {
		if a.budget != "" {
			return a.conflict("%s", a.budget).(*kairos.Error).Suggest("raise the limit")
		}
		waits := a.s.waits(a.budget)
		if a.run.Status == kairos.RunWaiting && len(waits) > 0 {
			text, _ := waitLine(waits[0].Reason, waits)
			return a.conflict("nothing to resume: %s", text)
		}
		return a.conflict("the run is not stopped")
	}
	for _, verb := range acts {
		row(payload{Verb: verb})
		if verb == "continue" {
			a.unpause()
		}
	}
	a.due()
	return nil
}

// unattended reports whether a run that is neither over nor waiting may have
// nobody who executes it: another process left it, and this engine takes up
// only runs that it is told to (ruling 27).
func (e *Engine) unattended(r kairos.Run) bool {
	return e.opts.OwnRunsOnly && (r.Status == kairos.RunRunning || r.Status == kairos.RunQueued)
}

// resumable lists the verbs that a resume of a waiting run stands for.
func resumable(s *state) []string {
	var acts []string
	if s.quarantined || s.held {
		acts = append(acts, "release")
	}
	if s.paused {
		acts = append(acts, "continue")
	}
	for _, w := range s.work {
		if w.phase == phaseWaiting && w.reason == kairos.WaitRetry {
			return append(acts, "retry-now")
		}
	}
	return acts
}

func stale() error {
	return kairos.Errorf(kairos.CodeStale, "what would happen has changed since the preview").Suggest("look at the new preview")
}

// Resolve settles an attempt in doubt (ruling 30).
func (e *Engine) Resolve(ctx context.Context, actor kairos.Actor, req kairos.ResolveRequest) (kairos.Run, error) {
	if err := e.allow(ctx, actor, kairos.RoleOperator, "node.resolve", req.Run, "node:"+req.Node); err != nil {
		return kairos.Run{}, err
	}
	switch req.Action {
	case actionHappened, actionRetry, actionSkip, actionFail:
	default:
		return kairos.Run{}, kairos.Errorf(kairos.CodeInvalid, "the action is %q; it must be happened, retry, skip or fail", req.Action)
	}
	if req.Action != actionHappened && len(req.Output) > 0 {
		return kairos.Run{}, kairos.Errorf(kairos.CodeInvalid, "only happened takes an output")
	}
	if _, err := decode(req.Output); err != nil {
		return kairos.Run{}, kairos.Errorf(kairos.CodeInvalid, "output: %w", err)
	}
	m := resolveMsg{actor, req, make(chan error, 1)}
	if !e.post(req.Run, m) {
		return kairos.Run{}, e.notOpen()
	}
	select {
	case err := <-m.reply:
		if err != nil {
			return kairos.Run{}, err
		}
		return e.store.Run(ctx, req.Run)
	case <-ctx.Done():
		return kairos.Run{}, context.Cause(ctx)
	}
}

func (a *actor) resolve(m resolveMsg) error {
	r := m.req
	if err := a.checkRev(r.Rev); err != nil {
		return err
	}
	i, ok := a.prog.Index[r.Node]
	if !ok {
		return kairos.Errorf(kairos.CodeNotFound, "the plan has no node %q", r.Node)
	}
	k := workKey{planner.VisitKey{Node: i, Visit: max(r.Visit, 1)}, r.Item}
	if a.prog.Nodes[i].Foreach == nil {
		k.item = noItem // clients may leave it out
	}
	w, d := a.s.work[k], a.s.doubts[k]
	attempt := 0
	switch {
	case w != nil && w.phase == phaseDoubt:
		attempt = w.attempt
	case d != nil && d.answer == nil:
		attempt = d.attempt
	default:
		return a.conflict("visit %d of node %q is not in doubt", k.Visit, r.Node)
	}
	if r.Attempt != 0 && r.Attempt != attempt {
		return kairos.Errorf(kairos.CodeStale, "attempt %d is in doubt, not attempt %d", attempt, r.Attempt).Suggest("look at it again")
	}
	if a.hasFinal {
		a.flush()
	}
	e := a.entry(kairos.EntryResolve, k)
	e.Decision, e.Attempt, e.Actor, e.Reason = payload{Action: r.Action}.json(), attempt, m.actor.Name, r.Reason
	if r.Action == actionHappened {
		e.Output = r.Output
		if len(e.Output) == 0 {
			e.Output = kairos.RawJSON("null")
		}
	}
	a.add(e)
	a.next.Audit = append(a.next.Audit, kairos.AuditRecord{Action: "node.resolve", Actor: m.actor.Name, Surface: m.actor.Surface, Request: m.actor.Request, Run: a.id,
		Object: "node:" + r.Node, Reason: r.Reason, Detail: detail(map[string]any{"action": r.Action, "visit": k.Visit, "attempt": attempt})})
	if w != nil {
		a.applyAnswer(w, answer{action: r.Action, output: e.Output})
	}
	return nil
}

// Why a visit has ended that nothing ran for.
const (
	saidHappened = "a person said that it happened"
	saidSkip     = "skipped by a person"
	saidFailed   = "a person said that it failed"
)

// applyAnswer does what a person said of an attempt in doubt.
func (a *actor) applyAnswer(w *work, said answer) {
	w.answer = nil
	switch said.action {
	case actionHappened:
		out, err := decode(said.output)
		if err != nil {
			out = nil // it was checked when it was given
		}
		a.final(w, kairos.NodeCompleted, out, nil, func(e *kairos.Entry) { e.Reason = cmp.Or(said.given, saidHappened) })
	case actionSkip:
		a.final(w, kairos.NodeSkipped, nil, nil, func(e *kairos.Entry) { e.Reason = saidSkip })
	case actionFail:
		f := w.failure
		if f == nil || f.Code == codeInterrupted {
			f = &kairos.Failure{Code: planner.CodeFailed, Message: saidFailed}
		}
		a.final(w, kairos.NodeFailed, nil, f, func(e *kairos.Entry) { e.Reason = saidFailed })
	case actionRetry:
		a.queue = append(a.queue, w.workKey)
	}
	a.dueDirty = true
}

// statusRecord is the audit record of a run's change of status.
func statusRecord(run string, status kairos.RunStatus, reason kairos.WaitReason, headline string) kairos.AuditRecord {
	d := map[string]any{"status": status}
	if reason != "" {
		d["waitReason"] = reason
	}
	if headline = strings.ToValidUTF8(clipText(headline, 500), ""); headline != "" {
		d["headline"] = headline
	}
	return kairos.AuditRecord{Action: "run.status", Actor: kairos.System.Name, Surface: kairos.System.Surface, Run: run, Detail: detail(d)}
}

func clipText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}
