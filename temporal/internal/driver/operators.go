package driver

import (
	"slices"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/kairosd/kairosd/internal/budget/runledger"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// listen registers the signals, updates, and queries of the run.
func (r *runner) listen(ctx workflow.Context) error {
	substeps := workflow.GetSignalChannel(ctx, wire.SubstepSignal)
	workflow.Go(r.ctx, func(own workflow.Context) {
		for {
			var s wire.Substep
			substeps.Receive(own, &s)
			r.post(func() { _ = r.recorded(s) }) // a row of an attempt that no longer counts is dropped
		}
	})
	cancels := workflow.GetSignalChannel(ctx, wire.CancelSignal)
	workflow.Go(r.ctx, func(own workflow.Context) {
		for {
			cancels.Receive(own, nil)
			r.post(func() { r.cancel("the parent run no longer needs it") })
		}
	})
	holds := workflow.GetSignalChannel(ctx, wire.HoldSignal)
	workflow.Go(r.ctx, func(own workflow.Context) {
		for {
			var raw converter.RawValue
			holds.Receive(own, &raw)
			r.post(func() { r.hold(raw) })
		}
	})
	admits := workflow.GetSignalChannel(ctx, wire.AdmitSignal)
	workflow.Go(r.ctx, func(own workflow.Context) {
		for {
			var s wire.Signed
			admits.Receive(own, &s)
			if s.Admits(r.in.Signer, r.in.Run.ID) {
				r.post(func() { r.admitted = true })
			}
		}
	})
	workflow.Go(r.ctx, func(own workflow.Context) {
		ctx.Done().Receive(own, nil)
		r.post(func() { r.cancel("its workflow was cancelled") })
	})
	queries := map[string]any{
		wire.RunQuery:       func() (domain.Run, error) { return query(r, func() domain.Run { return r.m.Run }) },
		wire.JournalQuery:   func() ([]domain.Entry, error) { return query(r, func() []domain.Entry { return r.journal }) },
		wire.ApprovalsQuery: func() ([]domain.Approval, error) { return query(r, r.approvals) },
		wire.ReservedQuery:  func(id string) (runledger.Answer, error) { return r.calls.answer(id), nil },
	}
	for _, name := range []string{wire.RunQuery, wire.JournalQuery, wire.ApprovalsQuery, wire.ReservedQuery} {
		if err := workflow.SetQueryHandler(ctx, name, queries[name]); err != nil {
			return err
		}
	}
	updates := map[string]any{
		wire.IntentUpdate: func(ctx workflow.Context, s wire.Substep) error {
			_, err := r.update(ctx, func() error { return r.recorded(s) })
			return err
		},
		wire.ActUpdate: func(ctx workflow.Context, raw converter.RawValue) (domain.Run, error) {
			var a wire.Action
			return r.request(ctx, wire.ActUpdate, raw, &a, func() error { return r.act(a) })
		},
		wire.ResolveUpdate: func(ctx workflow.Context, raw converter.RawValue) (domain.Run, error) {
			var a wire.Resolution
			return r.request(ctx, wire.ResolveUpdate, raw, &a, func() error {
				r.handle(runstate.Complete{})
				a.Request.Run, a.Request.Node, a.Request.Receipt = r.in.Run.ID, a.Node, a.Receipt
				return r.decide(&runstate.StepResolved{Actor: a.Actor, Request: a.Request})
			})
		},
		wire.DecideUpdate: func(ctx workflow.Context, raw converter.RawValue) (domain.Run, error) {
			var d wire.Decision
			return r.request(ctx, wire.DecideUpdate, raw, &d, func() error { return r.decision(d) })
		},
		wire.EventUpdate: func(ctx workflow.Context, raw converter.RawValue) (domain.Run, error) {
			var e wire.Event
			return r.request(ctx, wire.EventUpdate, raw, &e, func() error {
				r.handle(runstate.Complete{})
				return r.decide(&runstate.SignalArrived{Wait: e.Wait, Signal: e.Signal})
			})
		},
		wire.ReserveUpdate: func(ctx workflow.Context, q wire.Reserve) (runledger.Answer, error) { return r.calls.reserve(ctx, q) },
		wire.FreedUpdate: func(ctx workflow.Context, raw converter.RawValue) (domain.Run, error) {
			var f wire.Freed
			return r.request(ctx, wire.FreedUpdate, raw, &f, func() error {
				r.handle(runstate.Complete{})
				return r.decide(&runstate.BudgetFreed{Budget: f.Budget})
			})
		},
	}
	if err := workflow.SetUpdateHandler(ctx, wire.RecallUpdate, r.recall); err != nil {
		return err
	}
	for _, name := range []string{wire.IntentUpdate, wire.ActUpdate, wire.ResolveUpdate, wire.DecideUpdate, wire.EventUpdate,
		wire.ReserveUpdate, wire.FreedUpdate} {
		if err := workflow.SetUpdateHandler(ctx, name, updates[name]); err != nil {
			return err
		}
	}
	return nil
}

// query returns the answer to a query, or an error while the run is being loaded.
func query[T any](r *runner, answer func() T) (out T, err error) {
	if r.m == nil {
		return out, domain.Errorf(domain.CodeUnavailable, "run %s is being loaded", r.in.Run.ID)
	}
	return answer(), nil
}

// requestTimeout is the time in which the request arrives for which a workflow was started.
const requestTimeout = time.Minute

// awaitRequest keeps the workflow of an ended run open until its request was handled.
func (r *runner) awaitRequest() {
	r.awaiting = true
	workflow.Go(r.ctx, func(ctx workflow.Context) {
		_, _ = workflow.AwaitWithTimeout(ctx, requestTimeout, func() bool { return !r.awaiting }) // the context does not end
		r.awaiting = false
		r.wake()
	})
}

// request lets the loop handle a request of a person, which is decoded into a pointer. A run that kairosd started accepts only
// what kairosd has signed, and each signature once.
func (r *runner) request(ctx workflow.Context, name string, raw converter.RawValue, into any, handle func() error) (domain.Run, error) {
	return r.update(ctx, func() error {
		nonce, err := wire.Open(raw, r.in.Signer, r.in.Run.ID, name, r.now(), into)
		switch {
		case err != nil:
			return err
		case nonce != "" && slices.Contains(r.in.Nonces, nonce):
			return domain.Errorf(domain.CodeForbidden, "the request was handled before")
		case nonce != "":
			r.in.Nonces = append(slices.Clip(r.in.Nonces), nonce)
		}
		return handle()
	})
}

// hold begins or ends maintenance. The signal may have waited for a worker, so that only its order matters.
func (r *runner) hold(raw converter.RawValue) {
	var h wire.Hold
	_, err := wire.Open(raw, r.in.Signer, r.in.Run.ID, wire.HoldSignal, time.Time{}, &h)
	if err == nil && h.At.After(r.in.Hold.At) {
		r.in.Hold = h
	}
}

// update lets the loop handle a request, and returns the run after it.
func (r *runner) update(ctx workflow.Context, request func() error) (run domain.Run, err error) {
	done := false
	r.post(func() {
		if err = request(); err == nil {
			r.advance()
			r.handle(runstate.Complete{})
		}
		run, done, r.awaiting = r.m.Run, true, false
	})
	if wait := workflow.Await(ctx, func() bool { return done }); wait != nil {
		return run, wait
	}
	if err != nil {
		return run, applicationError(err)
	}
	r.wake()
	return run, nil
}

// recorded adds the row of a sub-step.
func (r *runner) recorded(s wire.Substep) error {
	begun := r.activeAttempt(s.Key, s.Number)
	if begun == nil {
		return domain.Errorf(domain.CodeConflict, "the attempt is no longer active")
	}
	if s.Lost != nil {
		r.calls.lose(begun, *s.Lost)
		return nil
	}
	row := &s.Row.Row
	if w := r.m.State.Open[s.Key]; w != nil && row.Kind == domain.EntrySubstep {
		if known, ok := w.Substeps[row.Substep]; ok && known.Attempt == row.Attempt {
			return nil // the worker has sent it again
		}
	}
	ev := s.Row
	ev.Attempt = begun
	r.calls.close(begun, s.Unreported, &ev)
	r.handle(&ev)
	r.handle(runstate.Complete{})
	return nil
}

// cancel cancels the run on behalf of the system.
func (r *runner) cancel(reason string) {
	r.handle(runstate.Complete{})
	// It is refused if the run has ended.
	_ = r.decide(&runstate.OperatorAction{Actor: domain.System,
		Request: domain.ActionRequest{Run: r.m.Run.ID, Action: domain.ActionCancel, Reason: reason}})
}

// act carries out the action of an operator, or refuses it.
func (r *runner) act(a wire.Action) error {
	if err := preview.CheckRequest(a.Request); err != nil {
		return err
	}
	r.handle(runstate.Complete{})
	if err := r.m.CheckRevision(a.Request.Rev); err != nil {
		return err
	}
	if a.Request.Action == domain.ActionResume {
		switch {
		case r.m.Ended() && a.Reset == nil:
			return r.m.Conflict("the run has ended")
		case !r.m.Ended() && preview.HasResumeOptions(a.Request):
			return preview.NoOptionsError()
		}
		r.in.Resumed = r.in.Resumed || r.m.Ended()
	}
	return r.decide(&runstate.OperatorAction{Actor: a.Actor, Request: a.Request, Reset: a.Reset, Options: a.Options})
}

// decision answers an approval request.
func (r *runner) decision(d wire.Decision) error {
	r.handle(runstate.Complete{})
	d.Request.Approval, d.Request.Receipt = d.Approval, d.Receipt
	w, p, answer, err := r.checkDecision(&d.Request)
	if err != nil {
		return err
	}
	ev := &runstate.ApprovalDecided{Actor: d.Actor, Request: d.Request, Answer: answer, Approval: p}
	if w.ReplanTarget != nil && !d.Request.RequestChanges && !answer.Rejects() {
		ev.Version = r.newVersion(*w.ReplanTarget)
	}
	return r.decide(ev)
}

// approvals lists the open requests of the run.
func (r *runner) approvals() (list []domain.Approval) {
	for _, w := range r.m.State.OpenSteps() {
		if w.Phase == runstate.PhaseWaiting && w.Reason == domain.WaitApproval {
			list = append(list, runstate.ApprovalRequest(&r.m.Run, r.m.State, w))
		}
	}
	return list
}
