package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

const timeUnit = time.Microsecond

// actionMsg is a request for an action on the run.
type actionMsg struct {
	actor domain.Actor
	req   domain.ActionRequest
	reply reply[done]
}

// resolveMsg is a request to resolve an attempt in doubt.
type resolveMsg struct {
	actor domain.Actor
	req   domain.ResolveRequest
	reply reply[done]
}

func (m actionMsg) answer(err error)  { m.reply.give(done{}, err) }
func (m resolveMsg) answer(err error) { m.reply.give(done{}, err) }

// Act carries out an action and returns its run: the same run, or the new run of a rerun, fork, or undo.
func (e *Engine) Act(ctx context.Context, actor domain.Actor, req domain.ActionRequest) (domain.Run, error) {
	if err := preview.CheckRequest(req); err != nil {
		return domain.Run{}, err
	}
	if req.Action == domain.ActionRelease {
		if err := e.store.MayRelease(ctx, actor); err != nil {
			return domain.Run{}, err
		}
	}
	switch req.Action {
	case domain.ActionUndo:
		defer e.starts.undoing.Lock(req.Run)()
		return e.starts.undo(ctx, actor, req)
	case domain.ActionResume:
		defer e.starts.undoing.Lock(req.Run)()
		if err := checkNotUndone(ctx, e, req.Run); err != nil {
			return domain.Run{}, err
		}
	}
	if req.Action == domain.ActionRerun || req.Action == domain.ActionFork {
		return e.starts.newRun(ctx, actor, req)
	}
	if err := act(ctx, e, actor, req); err != nil {
		return domain.Run{}, err
	}
	if req.Action == domain.ActionCancel {
		return e.settledRun(ctx, req.Run)
	}
	return e.store.Run(ctx, req.Run)
}

// act lets the runner of a run, or the remote that executes it, carry out an action.
func act(ctx context.Context, e *Engine, actor domain.Actor, req domain.ActionRequest) error {
	if r := &e.starts.remote; r.Remote != nil {
		return r.act(ctx, actor, req)
	}
	m := actionMsg{actor, req, newReply[done]()}
	_, err := askRun(ctx, e, req.Run, m, m.reply)
	return err
}

// settledRun waits for the end of a cancelled run.
func (e *Engine) settledRun(ctx context.Context, run string) (domain.Run, error) {
	limited, cancel := context.WithTimeout(ctx, e.opts.CancelGrace+time.Second)
	defer cancel()
	r, err := e.watchers.await(limited, run, true, func(r *domain.Run) bool { return r.Status.Final() })
	if err != nil && r.ID != "" {
		return r, nil // its current state
	}
	return r, err
}

// flushFirst completes the current checkpoint before an operator's message is handled, because it
// may contain the last step's result.
func (a *runner) flushFirst() {
	a.flush() //seed:flush-first
}

// answerLater answers the message once everything that the answer depends on is durable. This
// includes refusals.
func (a *runner) answerLater(m answerable, refusal error) {
	a.pipe.after(func(err error) { m.answer(cmp.Or(err, refusal)) })
}

func (m actionMsg) apply(a *runner) {
	a.flushFirst()
	a.answerLater(m, a.act(m))
}

func (m resolveMsg) apply(a *runner) {
	a.flushFirst()
	a.answerLater(m, a.decide(&runstate.StepResolved{Actor: m.actor, Request: m.req}))
}

// act carries out the action of an operator, or refuses it.
func (a *runner) act(m actionMsg) error {
	if err := a.m.CheckRevision(m.req.Rev); err != nil {
		return err
	}
	if a.stopping {
		return errNotOpen()
	}
	ev := &runstate.OperatorAction{Actor: m.actor, Request: m.req}
	if m.req.Action == domain.ActionResume {
		if err := a.checkResume(ev); err != nil {
			return err
		}
	}
	if err := a.decide(ev); err != nil {
		return err
	}
	failpoint.Hit("verb.before")
	a.freeNodes()
	return nil
}

// checkResume refuses a resume that is not possible or differs from its preview. For an ended run,
// it adds what the resume reopens.
func (a *runner) checkResume(ev *runstate.OperatorAction) error {
	req, run := ev.Request, &a.m.Run
	ev.Unattended = a.e.env.Unattended(*run)
	if !a.m.Ended() {
		if preview.HasResumeOptions(req) {
			return preview.NoOptionsError()
		}
		if req.Digest == "" || a.m.JustRecovered() && req.Digest == a.resumePreviewed {
			return nil
		}
	} else if err := checkReopen(a.m); err != nil {
		return err
	}
	view := a.view() //seed:resume-view
	return completeResume(view, ev, a.m.Ended())
}

// view returns the runner's view of the run, which may be ahead of the store. It is a copy without
// the journal.
func (a *runner) view() *preview.View {
	return &preview.View{Env: &a.e.env, Run: a.m.Run, Program: a.m.Program, State: a.m.State.Clone()}
}

// Resolve resolves an attempt in doubt.
func (e *Engine) Resolve(ctx context.Context, actor domain.Actor, req domain.ResolveRequest) (domain.Run, error) {
	switch req.Action {
	case runstate.ActionHappened, runstate.ActionRetry, runstate.ActionSkip, runstate.ActionFail:
	default:
		return domain.Run{}, domain.Errorf(domain.CodeInvalid, "unknown action %q: use happened, retry, skip, or fail", req.Action)
	}
	if req.Action != runstate.ActionHappened && len(req.Output) > 0 {
		return domain.Run{}, domain.Errorf(domain.CodeInvalid, "only the action happened accepts an output")
	}
	if _, err := runstate.Decode(req.Output); err != nil {
		return domain.Run{}, domain.Errorf(domain.CodeInvalid, "output: %w", err)
	}
	if r := &e.starts.remote; r.Remote != nil {
		if err := r.resolve(ctx, actor, req); err != nil {
			return domain.Run{}, err
		}
		return e.store.Run(ctx, req.Run)
	}
	m := resolveMsg{actor, req, newReply[done]()}
	if _, err := askRun(ctx, e, req.Run, m, m.reply); err != nil {
		return domain.Run{}, err
	}
	return e.store.Run(ctx, req.Run)
}
