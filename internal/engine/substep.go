package engine

import (
	"context"
	"errors"
	"strconv"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/planner/walk"
)

// substepMsg records the intent or the response of a sub-step.
type substepMsg struct {
	attempt *attempt
	entry   domain.Entry
	mail    substepData
	reply   reply[done]
	// unreported means that the provider did not report the usage of a model call.
	unreported bool
}

func (m substepMsg) answer(err error) { m.reply.give(done{}, err) }

// SubstepKey returns the idempotency key of the call of sub-step n in an attempt with this key.
func SubstepKey(key string, n int) string { return key + "-" + strconv.Itoa(n) }

// runSubstep runs fn at most once per visit, item, and n, even across crashes. Its response is
// durable before the handler receives it. A non-idempotent sub-step first writes an intent row, so
// that it is in doubt until its outcome is recorded.
func (t *attempt) runSubstep(recorded domain.Entry, n int, kind, digest string, effect walk.Effect,
	fn func() (any, domain.Usage, error)) (any, error) {
	if recorded.Substep == n && n > 0 && sameSubstep(recorded, kind, digest) {
		if recorded.Failure != nil {
			return nil, runstate.ToPlanner(recorded.Failure)
		}
		return runstate.Decode(recorded.Output)
	}
	if n <= 0 {
		return nil, errors.New("engine: sub-steps count from 1")
	}
	row := domain.Entry{Node: t.Spec.ID, Visit: t.Visit, Item: t.Item, Attempt: t.Number, Substep: n, Effect: string(effect)}
	t.recordSubstepUse(kind)
	if err := t.reserve(n); err != nil {
		return nil, err
	}
	if effect == walk.EffectUnsafe {
		intent := row
		intent.Kind, intent.Status, intent.StartedAt = domain.EntryIntent, domain.NodeRunning, t.handlers.now()
		intent.Decision, intent.Input = runstate.SubstepDecision{Kind: kind, Digest: digest}.JSON(), t.prompt(n)
		intent.IdempotencyKey = SubstepKey(t.call.IdempotencyKey, n)
		if err := t.recordSubstep(intent, substepData{}); err != nil {
			t.notMade(row, kind, digest)
			return nil, err
		}
	}
	row.Kind, row.StartedAt, row.Input = domain.EntrySubstep, t.handlers.now(), t.prompt(n)
	failpoint.Hit("substep.before")
	out, usage, err := fn()
	failpoint.Hit("substep.after")
	unreported := usage.Estimated || err == nil && usage.Zero()
	usage.Estimated = false
	if errors.Is(err, ErrBudget) { // it has a cost, and its response is useless
		row.Status, row.Usage, row.Decision = domain.NodeCancelled, usage, runstate.SubstepDecision{Kind: kind, Digest: digest}.JSON()
		if recordErr := t.record(substepMsg{t, row, substepData{}, newReply[done](), unreported}); recordErr != nil {
			return nil, recordErr
		}
		return nil, err
	}
	if err != nil {
		f := walk.AsFailure(err)
		cut := context.Cause(t.limited) != nil && effect != walk.EffectUnsafe // by the end of the attempt, whatever the error is
		if cut || f.Code == walk.CodeCancelled || f.Code == walk.CodeTimeout || effect == walk.EffectUnsafe && !f.NoEffect {
			if f.NoEffect && effect == walk.EffectUnsafe {
				t.notMade(row, kind, digest)
			}
			t.callEnded(n, unreported || !usage.Zero())
			return nil, err // there is no response to record, and the effect is unknown
		}
		row.Status, row.Failure = domain.NodeFailed, runstate.FromPlanner(f, t.Spec.ID)
		t.handlers.current().maskFailure(row.Failure)
	} else {
		value, raw, failure := t.handlers.current().encodeOutput(t.Spec.ID, out)
		if failure != nil {
			t.callEnded(n, true)
			return nil, runstate.ToPlanner(failure)
		}
		out, row.Output, row.Status = value, raw, domain.NodeCompleted
	}
	row.Usage, row.Decision = usage, runstate.SubstepDecision{Kind: kind, Digest: digest}.JSON()
	if row.Failure != nil {
		err = runstate.ToPlanner(row.Failure) // as a later attempt reads it, with secrets masked
	}
	if recordErr := t.record(substepMsg{t, row, substepData{}, newReply[done](), unreported}); recordErr != nil {
		return nil, recordErr
	}
	return out, err
}

// notMade records that an announced non-idempotent sub-step did nothing, so that it is not in
// doubt. The attempt is about to end, so nothing waits for the row.
func (t *attempt) notMade(row domain.Entry, kind, digest string) {
	row.Kind, row.Status, row.StartedAt = domain.EntrySubstep, domain.NodeCancelled, t.handlers.now()
	row.Decision = runstate.SubstepDecision{Kind: kind, Digest: digest}.JSON()
	t.inbox.post(substepMsg{t, row, substepData{}, newReply[done](), false})
}

// recordPrompt keeps a prompt for the row of its sub-step. A prompt that cannot be stored is left out,
// because the call does not depend on it.
func (t *attempt) recordPrompt(n int, prompt any) {
	_, raw, failure := t.handlers.current().encodeOutput(t.Spec.ID, prompt)
	if failure != nil {
		t.handlers.log.Warn("a prompt was not kept", "run_id", t.run, "node", t.Spec.ID, "err", failure.Message)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.prompts == nil {
		t.prompts = map[int]domain.RawJSON{}
	}
	t.prompts[n] = raw
}

// prompt removes and returns the prompt of a sub-step, or nil.
func (t *attempt) prompt(n int) domain.RawJSON {
	t.mu.Lock()
	defer t.mu.Unlock()
	raw := t.prompts[n]
	delete(t.prompts, n)
	return raw
}

func sameSubstep(e domain.Entry, kind, digest string) bool {
	want := runstate.SubstepDecision{Kind: kind, Digest: digest}.JSON()
	return string(e.Decision) == string(want)
}

// recordSubstep returns when the row is durable.
func (t *attempt) recordSubstep(e domain.Entry, l substepData) error {
	return t.record(substepMsg{t, e, l, newReply[done](), false})
}

func (t *attempt) record(m substepMsg) error {
	// The runner exists as long as the attempt counts. If the attempt ends first, the row may still
	// become durable.
	_, err := ask(t.ctx, t.handlers.stopped, t.inbox.post, m, m.reply, ErrFenced)
	return err
}

func (m substepMsg) apply(a *runner) {
	t := m.attempt
	if a.attempts[&t.Attempt] != t {
		m.answer(ErrFenced)
		return
	}
	charges := a.callOver(&m)
	a.handle(
		&runstate.SubstepRecorded{
			Attempt:  &t.Attempt,
			Row:      m.entry,
			Uses:     t.takeUses(),
			Messages: m.mail.messages,
			Handoff:  m.mail.handoff,
			Charges:  charges,
		},
	)
	a.startWaitingCalls()
	a.pipe.after(m.answer)
}
