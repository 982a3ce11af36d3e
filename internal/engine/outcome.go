package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// returned removes an attempt from the active ones and keeps its slot for the next one. It returns
// false if a refold has fenced the attempt off.
func (a *runner) returned(t *attempt) bool {
	if a.attempts[&t.Attempt] != t {
		return false
	}
	delete(a.attempts, &t.Attempt)
	a.slots.returnNode()
	return true
}

// ending returns how an attempt ended.
func (t *attempt) ending(cause error) runstate.AttemptEnding {
	end := runstate.AttemptEnding{Attempt: &t.Attempt, Cause: stopCause(cause), Log: t.log.stored()}
	if limit, ok := errors.AsType[*budgetError](cause); ok {
		end.Limit, end.LimitCode, end.LimitBudget = limit.Message, limit.Code, limit.Budget
	}
	return end
}

func (m doneMsg) apply(a *runner) {
	t := m.attempt
	if !a.returned(t) {
		return
	}
	ev := &a.done // the machine does not keep events
	*ev = m.event(a.e.current())
	ev.Unreported, ev.Provider, ev.Charges = a.settleCalls(t)
	a.handle(ev)
	*ev = runstate.AttemptDone{}
	a.startWaitingCalls()
	a.freeNodes()
}

// event returns the end of an attempt, without what its calls have reserved.
func (m doneMsg) event(s *setup) runstate.AttemptDone {
	t, err := m.attempt, m.err
	cause := context.Cause(t.ctx)
	t.cancel(nil)
	if errors.Is(err, ErrBudget) {
		cause = err
	}
	ev := runstate.AttemptDone{AttemptEnding: t.ending(cause)}
	ev.Usage, ev.Agent, ev.Uses = m.result.Usage, m.result.Agent, t.takeUses()
	if err != nil {
		ev.Failure = s.failureOf(t, err)
	} else {
		ev.Output, ev.Raw, ev.Unstorable = s.encodeOutput(t.Spec.ID, m.result.Output)
	}
	if c, ok := t.question(); ok && errors.Is(err, ErrApprovalPending) {
		ev.Asked = &c
	}
	return ev
}

// apply records the end of an abandoned attempt. A later result of its handler is late.
func (m abandonMsg) apply(a *runner) {
	t := m.attempt
	if !a.returned(t) {
		return
	}
	ev := &runstate.AttemptAbandoned{AttemptEnding: t.ending(context.Cause(t.ctx))}
	ev.Unreported, ev.Provider, ev.Charges = a.settleCalls(t)
	a.handle(ev)
	a.startWaitingCalls()
	a.freeNodes()
}

// unstarted ends an attempt whose handler was never called, because the engine is stopping or the
// run was cancelled.
func (a *runner) unstarted(t *attempt) {
	t.leave()
	if a.returned(t) {
		a.handle(&runstate.AttemptNotStarted{AttemptEnding: t.ending(cmp.Or(context.Cause(t.ctx), ErrStopping))})
		a.freeNodes()
	}
}

func (m lateMsg) apply(a *runner) {
	ev := &runstate.AttemptLate{Attempt: &m.attempt.Attempt}
	if m.err != nil {
		ev.Failure = a.e.current().failureOf(m.attempt, m.err)
	} else {
		_, ev.Output, ev.Failure = a.e.current().encodeOutput(m.attempt.Spec.ID, m.output)
	}
	a.handle(ev)
}

// failureOf converts an error to the form of the journal.
func (s *setup) failureOf(t *attempt, err error) *domain.Failure {
	if p, ok := errors.AsType[*panicError](err); ok {
		return (&domain.Failure{Code: walk.CodePanic, Node: t.Spec.ID, Stack: s.mask(p.stack)}).
			WithMessage("panic: %s", s.mask(fmt.Sprint(p.value)))
	}
	f := runstate.FromPlanner(walk.AsFailure(err), t.Spec.ID)
	s.maskFailure(f)
	return f
}

// encodeOutput converts the output of a handler to a value and its JSON, with secrets masked.
func (s *setup) encodeOutput(node string, v any) (out any, raw domain.RawJSON, f *domain.Failure) {
	out, err := normalize(v)
	if err == nil {
		raw, err = jsonvalue.EncodeWithin(out, jsonvalue.MaxBytes)
	}
	if err != nil {
		return nil, nil, runstate.OutputFailure(node, err)
	}
	secrets := s.Secrets
	if secrets == nil || string(secrets.Mask(raw)) == string(raw) {
		return out, raw, nil
	}
	out = maskValue(secrets, out)
	if raw, err = jsonvalue.EncodeWithin(out, jsonvalue.MaxBytes); err != nil {
		return nil, nil, runstate.OutputFailure(node, err)
	}
	return out, raw, nil
}

// maskValue masks every text of a JSON value. A number that contains a secret becomes a text,
// because the mask is not a number.
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

// normalize is jsonvalue.Normalize for values whose methods may panic.
func normalize(v any) (out any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("encoding it panicked: %v", p)
		}
	}()
	return jsonvalue.Normalize(v)
}
