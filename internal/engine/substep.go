package engine

import (
	"context"
	"errors"

	"github.com/kairosd/kairosd/internal/failpoint"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

// substepMsg records the intent or the response of a sub-step.
type substepMsg struct {
	attempt *attempt
	entry   kairos.Entry
	mail    mail
	reply   chan error
}

func (m substepMsg) answer(err error) { m.reply <- err }

// runSubstep runs fn at most once per (visit, item, n) across crashes: its
// response is durable before the handler sees it. An unsafe sub-step announces
// itself first, so that a crash leaves it in doubt (ruling 21).
func (a *actor) runSubstep(t *attempt, recorded kairos.Entry, n int, kind, digest string, effect planner.Effect,
	fn func() (any, kairos.Usage, error)) (any, error) {
	if recorded.Substep == n && n > 0 && sameSubstep(recorded, kind, digest) {
		if recorded.Failure != nil {
			return nil, toPlanner(recorded.Failure)
		}
		return decode(recorded.Output)
	}
	if n <= 0 {
		return nil, errors.New("engine: sub-steps count from 1")
	}
	row := kairos.Entry{Node: t.node.ID, Visit: t.key.Visit, Item: t.key.item, Attempt: t.number, Substep: n, Effect: string(effect)}
	t.usedIn(kind)
	if effect == planner.EffectUnsafe {
		intent := row
		intent.Kind, intent.Status, intent.StartedAt = kairos.EntryIntent, kairos.NodeRunning, t.e.now()
		intent.Decision = payload{Kind: kind, Digest: digest}.json()
		if err := t.recordSubstep(intent, mail{}); err != nil {
			return nil, err
		}
	}
	row.Kind, row.StartedAt, row.Input = kairos.EntrySubstep, t.e.now(), t.prompt(n)
	failpoint.Hit("substep.before")
	out, usage, err := fn()
	failpoint.Hit("substep.after")
	if err != nil {
		f := planner.AsFailure(err)
		cut := context.Cause(t.ctx) != nil && effect != planner.EffectUnsafe // by the end of the attempt, whatever it says
		if cut || f.Code == planner.CodeCancelled || f.Code == planner.CodeTimeout || effect == planner.EffectUnsafe && !f.NoEffect {
			return nil, err // no response to keep: what it did is unknown
		}
		row.Status, row.Failure = kairos.NodeFailed, fromPlanner(f, t.node.ID)
		t.e.maskFailure(row.Failure)
	} else {
		value, raw, failure := t.e.encodeOutput(t.node.ID, out)
		if failure != nil {
			return nil, toPlanner(failure)
		}
		out, row.Output, row.Status = value, raw, kairos.NodeCompleted
	}
	row.Usage, row.Decision = usage, payload{Kind: kind, Digest: digest}.json()
	if row.Failure != nil {
		err = toPlanner(row.Failure) // as a later attempt reads it, secrets masked
	}
	if recordErr := t.recordSubstep(row, mail{}); recordErr != nil {
		return nil, recordErr
	}
	return out, err
}

// asking keeps a prompt for the row of its sub-step. What cannot be kept is left
// out: the call itself does not depend on it.
func (t *attempt) asking(n int, prompt any) {
	_, raw, failure := t.e.encodeOutput(t.node.ID, prompt)
	if failure != nil {
		t.e.log.Warn("a prompt was not kept", "run_id", t.run, "node", t.node.ID, "err", failure.Message)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.prompts == nil {
		t.prompts = map[int]kairos.RawJSON{}
	}
	t.prompts[n] = raw
}

// prompt takes what was asked in a sub-step; nil: nothing was.
func (t *attempt) prompt(n int) kairos.RawJSON {
	t.mu.Lock()
	defer t.mu.Unlock()
	raw := t.prompts[n]
	delete(t.prompts, n)
	return raw
}

func sameSubstep(e kairos.Entry, kind, digest string) bool {
	want := payload{Kind: kind, Digest: digest}.json()
	return string(e.Decision) == string(want)
}

// recordSubstep returns when the row is durable.
func (t *attempt) recordSubstep(e kairos.Entry, l mail) error {
	m := substepMsg{t, e, l, make(chan error, 1)}
	if !t.e.post(t.run, m) {
		return ErrStopping
	}
	select {
	case err := <-m.reply:
		return err
	case <-t.ctx.Done():
		// The row may still become durable; the attempt is over either way.
		return context.Cause(t.ctx)
	}
}

// substep appends a sub-step's row if its attempt still counts.
func (a *actor) substep(m substepMsg) {
	if a.running[m.attempt.key] != m.attempt {
		m.answer(ErrFenced)
		return
	}
	e := m.entry
	e.At = a.e.now()
	a.noteUses(m.attempt)
	a.add(e)
	for _, l := range m.mail.messages {
		l.Seq = a.s.seq
		a.next.Messages = append(a.next.Messages, l)
	}
	if h := m.mail.handoff; h != nil {
		h.Seq = a.s.seq
		a.next.Handoffs = append(a.next.Handoffs, *h)
	}
	a.after(func(err error) { m.reply <- err })
}
