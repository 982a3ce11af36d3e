package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// done records how an attempt ended.
func (a *runner) done(t *attempt, r Result, err error) {
	if a.running[t.key] != t {
		return // fenced off by a refold
	}
	delete(a.running, t.key)
	a.slots.returnNode()
	t.cancel(nil)
	w := a.s.Open[t.key]
	if w == nil {
		a.freeNodes()
		return
	}
	a.noteUses(t)
	if err == nil && len(w.CallsInFlight) > 0 {
		err = &walk.Failure{Code: walk.CodeFailed, Message: fmt.Sprintf("it ended, and the outcome of its call of %s is not known", runstate.ToolNames(w.OpenCalls()))}
	}
	if err == nil {
		a.succeeded(t, w, r)
	} else if !a.parks(t, w, r, err) {
		cause := context.Cause(t.ctx)
		if errors.Is(err, ErrBudget) {
			cause = err
		}
		a.failed(t, w, a.failureOf(t, err), r.Usage, cause)
	}
	a.calls.drop(t)
	a.feed()
	a.closeFans()
	a.freeNodes()
}

// freeNodes gives back node slots that the run has no use for.
func (a *runner) freeNodes() {
	for a.slots.nodes > 0 && (a.blocked() || a.ready.peek(a.s) == nil) {
		a.slots.releaseNode()
	}
}

// succeeded settles work with its output, turned into JSON at once.
func (a *runner) succeeded(t *attempt, w *runstate.Step, r Result) {
	out, raw, failure := a.e.encodeOutput(t.node.ID, r.Output)
	fill := func(e *domain.Entry) { a.fill(e, t, r.Usage, cmp.Or(r.Agent, t.node.Agent)) }
	if failure != nil {
		a.final(w, domain.NodeFailed, nil, failure, fill)
		return
	}
	a.final(w, domain.NodeCompleted, out, nil, func(e *domain.Entry) { fill(e); e.Output = raw })
}

// fill completes the row of an attempt's end.
func (a *runner) fill(e *domain.Entry, t *attempt, usage domain.Usage, agent string) {
	e.Attempt, e.StartedAt, e.Effect, e.Usage, e.Agent = t.number, t.started, string(t.effect), usage.Add(a.calls.settle(t, a.run.Limits)), agent
	e.IdempotencyKey, e.Log = t.call.IdempotencyKey, t.log.stored()
	if t.effect == walk.EffectPure {
		e.Input, e.IdempotencyKey = t.input, ""
	}
}

// encodeOutput turns a handler's output into the value and the text that every
// reader sees, with secrets masked.
func (e *Engine) encodeOutput(node string, v any) (out any, raw domain.RawJSON, f *domain.Failure) {
	out, err := normalize(v)
	if err == nil {
		raw, err = jsonvalue.EncodeWithin(out, jsonvalue.MaxBytes)
	}
	if err != nil {
		return nil, nil, outputFailure(node, err)
	}
	secrets := e.current().Secrets
	if secrets == nil || string(secrets.Mask(raw)) == string(raw) {
		return out, raw, nil
	}
	out = maskValue(secrets, out)
	if raw, err = jsonvalue.EncodeWithin(out, jsonvalue.MaxBytes); err != nil {
		return nil, nil, outputFailure(node, err)
	}
	return out, raw, nil
}

// maskValue masks every text of a JSON value. A number that holds a secret becomes a
// text: dots are no digits.
func maskValue(secrets Secrets, v any) any {
	text := func(s string) string { return string(secrets.Mask([]byte(s))) }
	switch v := v.(type) {
	case string:
		return text(v)
	case json.Number:
		if masked := text(string(v)); masked != string(v) {
			return masked
		}
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = maskValue(secrets, e)
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[text(k)] = maskValue(secrets, e)
		}
		return m
	}
	return v
}

// outputFailure says why an output cannot be stored.
func outputFailure(node string, err error) *domain.Failure {
	if errors.Is(err, jsonvalue.ErrTooLarge) {
		return &domain.Failure{Code: walk.CodeOutputTooLarge, Node: node, Permanent: true,
			Message:    fmt.Sprintf("output of node %q exceeds %d MiB", node, jsonvalue.MaxBytes>>20),
			Suggestion: "write large data to a file and output its path"}
	}
	return &domain.Failure{Code: walk.CodeOutput, Node: node, Permanent: true, Message: fmt.Sprintf("output of node %q: %s", node, err)}
}

// inputFailure says why an input cannot be stored.
func inputFailure(node string, err error) *walk.Failure {
	f := &walk.Failure{Code: walk.CodeInvalidInput, Node: node, Message: fmt.Sprintf("input of node %q: %s", node, err), Permanent: true, NoEffect: true}
	if errors.Is(err, jsonvalue.ErrTooLarge) {
		f.Message = fmt.Sprintf("input of node %q exceeds %d MiB", node, jsonvalue.MaxBytes>>20)
		f.Suggestion = "write large data to a file and pass its path"
	}
	return f
}

// normalize is jsonvalue.Normalize for values whose own methods may panic.
func normalize(v any) (out any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("encoding it panicked: %v", p)
		}
	}()
	return jsonvalue.Normalize(v)
}

// failureOf puts an error into the form that the journal keeps.
func (a *runner) failureOf(t *attempt, err error) *domain.Failure {
	if p, ok := errors.AsType[*panicError](err); ok {
		return &domain.Failure{Code: walk.CodePanic, Node: t.node.ID, Message: a.e.mask(p.Error()), Stack: a.e.mask(p.stack)}
	}
	f := runstate.FromPlanner(walk.AsFailure(err), t.node.ID)
	a.e.maskFailure(f)
	return f
}

// unstarted takes back an attempt whose handler was never called, because the
// engine stops or the run was cancelled meanwhile.
func (a *runner) unstarted(t *attempt) {
	t.leave()
	delete(a.running, t.key)
	a.slots.returnNode()
	if w := a.s.Open[t.key]; w != nil {
		f := runstate.Interrupted("it had not begun")
		f.NoEffect = true
		a.failed(t, w, f, domain.Usage{}, cmp.Or(context.Cause(t.ctx), ErrStopping))
	}
	a.freeNodes()
}

// abandon records the end of an attempt whose handler ignores its context; what
// it returns one day is late.
func (a *runner) abandon(t *attempt) {
	if a.running[t.key] != t {
		return
	}
	delete(a.running, t.key)
	a.slots.returnNode()
	w := a.s.Open[t.key]
	if w != nil {
		f := &domain.Failure{Code: walk.CodeTimeout, Node: t.node.ID, Message: fmt.Sprintf("timed out after %s; the handler did not stop", t.node.Timeout)}
		cause := context.Cause(t.ctx)
		switch {
		case errors.Is(cause, ErrCancelled):
			f = &domain.Failure{Code: walk.CodeCancelled, Node: t.node.ID, Message: "cancelled; the handler did not stop"}
		case errors.Is(cause, ErrStopping), errors.Is(cause, ErrBudget):
			f = runstate.Interrupted("kairosd stopped while it ran")
		}
		a.failed(t, w, f, domain.Usage{}, cause)
	}
	a.feed()
	a.freeNodes()
}

// failed records a failed attempt and what becomes of it.
func (a *runner) failed(t *attempt, w *runstate.Step, f *domain.Failure, usage domain.Usage, cause error) {
	j := runstate.AttemptEnd{Effect: t.effect, Stepped: t.stepped, OpenCall: len(w.CallsInFlight) > 0, NoEffect: f.NoEffect, Permanent: f.Permanent,
		Interrupted: errors.Is(cause, ErrStopping) || errors.Is(cause, ErrBudget), Cancelled: a.s.Cancelled, Stopping: a.s.StoppedWithRun(w),
		FailedAttempts: w.FailedAttempts + 1, MaxAttempts: t.node.MaxAttempts}
	why, reason := "kairosd stopped while it ran", "stop"
	if errors.Is(cause, ErrBudget) {
		why, reason = "a limit of the run was reached while it ran", "budget"
	}
	if j.Interrupted && (f.Code == walk.CodeCancelled || f.Code == walk.CodeFailed || reason == "budget") {
		f = &domain.Failure{Code: runstate.CodeInterrupted, Message: why, NoEffect: f.NoEffect, Detail: f.Message}
	}
	fill := func(e *domain.Entry) { a.fill(e, t, usage, t.node.Agent) }
	switch j.Outcome() {
	case runstate.OutcomeFailed:
		a.final(w, domain.NodeFailed, nil, f, fill)
	case runstate.OutcomeRetry:
		a.goesOn(w, domain.NodeFailed, f, "", fill)
		a.retry(t.node, w, f)
	case runstate.OutcomeInDoubt:
		a.goesOn(w, domain.NodeInDoubt, f, "", fill)
		if a.s.Cancelled {
			// The run is over for this visit, but the doubt stays.
			a.final(w, domain.NodeCancelled, nil, nil, fill)
		}
	case runstate.OutcomeInterrupted:
		if reason == "budget" && j.Stopping && !a.prog.ContinueBranches {
			a.final(w, domain.NodeCancelled, nil, f, fill) // no limit is raised for a run that stops
			break
		}
		a.goesOn(w, domain.NodePending, f, reason, fill)
		if reason == "budget" {
			a.ready.push(w.StepKey) // for when a limit has been raised
			a.outOfBudget(a.limitReached(cause))
		}
	case runstate.OutcomeCancelled:
		a.final(w, domain.NodeCancelled, nil, f, fill)
	}
	a.closeFans()
}

// goesOn appends the row of an attempt that ended without settling its work.
func (a *runner) goesOn(w *runstate.Step, status domain.NodeStatus, f *domain.Failure, reason string, fill func(*domain.Entry)) {
	e := a.entry(domain.EntryResult, w.StepKey)
	e.Status, e.Failure, e.Reason = status, f, reason
	fill(&e)
	a.add(e)
}

// retry waits before the next attempt; the wait is durable.
func (a *runner) retry(node *walk.ProgramNode, w *runstate.Step, f *domain.Failure) {
	// What a server asks for is the least; runs that it sent away together do not
	// come back together (L06).
	asked := f.RetryAfter + time.Duration(rand.Float64()*float64(f.RetryAfter)/10)
	delay := max(node.Backoff.Delay(w.FailedAttempts, rand.Float64()), asked)
	if delay <= 0 {
		a.ready.push(w.StepKey)
		return
	}
	e := a.entry(domain.EntryWait, w.StepKey)
	e.Status, e.Reason, e.Attempt = domain.NodeWaiting, string(domain.WaitRetry), w.Attempt
	e.DueAt = a.e.now().Add(delay.Truncate(time.Microsecond) + time.Microsecond)
	a.add(e)
	a.dueDirty = true
}

// late keeps the result of an abandoned attempt for people to read.
func (a *runner) late(m lateMsg) {
	e := a.entry(domain.EntryResolve, m.attempt.key)
	e.Decision, e.Attempt, e.StartedAt = runstate.ResolveDecision{Action: runstate.ActionLate}.JSON(), m.attempt.number, m.attempt.started
	e.Reason = "the handler returned after it was given up"
	if m.err != nil {
		e.Failure = a.failureOf(m.attempt, m.err)
	} else if _, raw, f := a.e.encodeOutput(m.attempt.node.ID, m.output); f == nil {
		e.Output = raw
	} else {
		e.Failure = f
	}
	a.add(e)
}

// recover settles what was in flight when the daemon died.
func (a *runner) recover() {
	if a.ended {
		return
	}
	if a.run.Status != domain.RunRunning {
		a.settleFlying("the database was taken back to a moment at which it ran", "restore")
		return
	}
	a.runningSince = time.Now()
	a.armDeadline()
	a.silence(silenceMsg{}) // whoever was silent is gone
	if a.s.CleanStop {
		return
	}
	var nodes []runstate.StepRef
	for _, w := range a.s.OpenSteps() {
		if w.Parked() {
			continue
		}
		nodes = append(nodes, runstate.StepRef{Node: a.prog.Nodes[w.Node].ID, Visit: w.Visit, Item: w.Item})
	}
	crashes := a.run.Crashes + 1
	a.run.Crashes = crashes
	a.verbRow(runstate.VerbDecision{Verb: runstate.VerbCrash, Nodes: nodes}, domain.System.Name, "kairosd ended without putting the run down")
	patchOf(&a.pipe.next).Crashes = &crashes
	a.settleFlying("kairosd died while it ran", "crash")
	failpoint.Hit("recover.settled")
	for _, w := range a.s.OpenSteps() {
		if w.Crashes >= a.e.opts.QuarantineAfter && !a.s.Quarantined {
			a.verbRow(runstate.VerbDecision{Verb: runstate.VerbQuarantine}, domain.System.Name,
				fmt.Sprintf("kairosd died %d times while node %s was open", w.Crashes, a.prog.Nodes[w.Node].ID))
		}
	}
	if a.s.Cancelled {
		a.cancelOpen()
	}
}

// settleFlying settles, by their effect class, attempts that nobody runs any
// more.
func (a *runner) settleFlying(why, reason string) {
	for _, w := range a.s.OpenSteps() {
		if !w.InFlight() {
			continue
		}
		f := runstate.Interrupted(why)
		fill := func(e *domain.Entry) { e.Attempt, e.Effect, e.StartedAt = w.Attempt, string(w.Effect), w.StartedAt }
		switch a.e.env.LostOutcome(a.s.Program, w, a.s.Cancelled) {
		case runstate.OutcomeInDoubt:
			a.goesOn(w, domain.NodeInDoubt, f, reason, fill)
			if a.s.Cancelled {
				a.final(w, domain.NodeCancelled, nil, nil, fill)
			}
		case runstate.OutcomeCancelled:
			a.final(w, domain.NodeCancelled, nil, f, fill)
		default:
			a.goesOn(w, domain.NodePending, f, reason, fill)
			a.ready.push(w.StepKey)
		}
	}
}
