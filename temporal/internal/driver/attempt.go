package driver

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

const (
	// lostAfter is the time after which a worker that does not respond counts as lost.
	lostAfter = 30 * time.Second
	// maxAttempt is the longest time of an attempt without a timeout of its own. Temporal requires a limit.
	maxAttempt = 10 * 365 * 24 * time.Hour
	// timeoutGrace is the time after its timeout in which a worker must report the end of an attempt.
	timeoutGrace = time.Minute
	// prepareTimeout limits one attempt to prepare a step.
	prepareTimeout = 30 * time.Second
)

// attempt is an active attempt.
type attempt struct {
	key    runstate.StepKey
	task   wire.Attempt
	output any // of a built-in node, which needs no worker
	local  bool
	cancel workflow.CancelFunc
	cause  runstate.StopCause
}

// prepare reports to the machine what an attempt of a step needs.
func (r *runner) prepare(k runstate.StepKey) {
	m := r.m
	w, node := m.State.Open[k], &m.Program.Nodes[k.Node]
	refuse := func(f *walk.Failure) { r.handle(&runstate.AttemptRefused{StepKey: k, Failure: f}) }
	a := &attempt{key: k, cancel: func() {}}
	if runstate.Builtin(node.Type) { // the plan declares it stricter than pure
		out, failure := runstate.BuiltinOutput(m.State, w, node)
		if failure != nil {
			refuse(failure)
			return
		}
		a.output, a.local = out, true
	}
	input, failure := m.State.Walk.Input(w.VisitKey, w.Item)
	if failure != nil {
		refuse(failure)
		return
	}
	raw, err := jsonvalue.EncodeWithin(input, jsonvalue.MaxBytes)
	if err != nil {
		refuse(runstate.InputFailure(node.ID, err))
		return
	}
	var prepared wire.Prepared
	dispatch, mark := domain.RawJSON(nil), ""
	if a.local {
		prepared.Effect = string(engine.BuiltinEffect(m.Program, node))
	} else {
		if mayBeTool(node) {
			if v, has := marked(m.State, w, r.mark); has {
				mark = r.mark
				if dispatch, err = jsonvalue.EncodeWithin(v, jsonvalue.MaxBytes); err != nil {
					refuse(runstate.InputFailure(node.ID, err))
					return
				}
			}
		}
		task := engine.TaskOf(m, w, "", input, r.now())
		p := wire.Proposal{Version: r.version(), Profile: m.Run.Profile, Node: node.ID, Run: m.Run.ID, PlanKey: task.Call.PlanKey,
			Dry: m.Run.Dry(), Offline: m.Run.Limits.Offline, Answers: w.Answers, Input: raw, Secrets: dispatch, Mark: mark,
			Callback: r.in.Callback}
		if prepared, err = r.ask(p); err != nil {
			refuse((&walk.Failure{Code: walk.CodeFailed}).WithMessage("the step cannot be prepared: %s", err))
			return
		}
	}
	if m.State.Open[k] != w {
		return
	}
	switch {
	case prepared.Refused != nil:
		refuse(runstate.ToPlanner(prepared.Refused))
	case prepared.Skip:
		r.handle(&runstate.DryStep{StepKey: k, Input: input})
	case prepared.Consent != nil:
		r.handle(&runstate.ConsentNeeded{StepKey: k, Request: *prepared.Consent})
	default:
		r.ready(a, w, prepared, input, raw, dispatch, mark)
	}
}

// mayBeTool reports whether a step calls a tool. Its type may be the name of a tool, which only workers know.
func mayBeTool(n *walk.ProgramNode) bool {
	switch n.Type {
	case walk.TypeAgent, walk.TypeLLM, walk.TypeRouter, walk.TypeTools, walk.TypeGenerator:
		return false
	}
	return true
}

// ask asks a worker what happens to a step. Only the answer is in the history.
func (r *runner) ask(p wire.Proposal) (out wire.Prepared, err error) {
	ctx := workflow.WithLocalActivityOptions(r.ctx, workflow.LocalActivityOptions{StartToCloseTimeout: prepareTimeout})
	err = workflow.ExecuteLocalActivity(ctx, wire.PrepareActivity, p).Get(ctx, &out)
	return out, err
}

// version returns the version that the run follows, with its source.
func (r *runner) version() domain.Version { return r.in.Versions[r.m.Run.Hash] }

// ready reports that the attempt can begin.
func (r *runner) ready(a *attempt, w *runstate.Step, p wire.Prepared, input any, raw, dispatch domain.RawJSON, mark string) {
	m := r.m
	env := r.env()
	task := engine.TaskOf(m, w, walk.Effect(p.Effect), input, env.Now)
	begun := &task.Attempt
	begun.Input, begun.Stepped = raw, p.Stepped
	begun.IdempotencyKey = engine.IdempotencyKey(r.in.Key, m.Run.ID, m.State.IdempotencyName(begun.Spec.ID), w.Visit, w.Item)
	if !a.local {
		info := workflow.GetInfo(r.ctx).WorkflowExecution
		a.task = wire.Attempt{Workflow: info.ID, WorkflowRun: info.RunID, Version: r.version(), Profile: m.Run.Profile,
			Node: begun.Spec.ID, Key: a.key, Number: begun.Number, Effect: p.Effect, Stepped: p.Stepped,
			IdempotencyKey: begun.IdempotencyKey, StartedAt: begun.StartedAt, Timeout: begun.Spec.Timeout,
			Run: m.Run.ID, PlanKey: task.Call.PlanKey, Owner: task.Call.Owner, Session: task.Call.Session,
			Priority: task.Priority, Input: raw, Request: encode(task.Call.Request), Answers: task.Answers,
			Limits: m.Limits(), Spent: m.Spent(env.Monotonic), Budgets: r.in.Budgets.Of(m.Run.PlanKey, m.Run.Labels)}
		if mark != "" {
			a.task.Input, a.task.Plain, a.task.Mark, a.task.Callback = dispatch, raw, mark, r.in.Callback
		}
		if !mayBeTool(begun.Spec) { // a tool receives its input only
			a.task.Last = encode(task.Call.Last)
			for _, p := range task.Call.Previous() {
				a.task.Previous = append(a.task.Previous, wire.Previous{Number: p.Number, Node: p.Node, Task: p.Task, Agent: p.Agent,
					Output: encode(p.Output)})
			}
		}
		for _, n := range slices.Sorted(maps.Keys(task.Substeps)) {
			a.task.Substeps = append(a.task.Substeps, task.Substeps[n])
		}
		if !r.fitsAttempt(&a.task) {
			r.handle(&runstate.AttemptRefused{StepKey: a.key, Failure: largeInput(begun.Spec.ID)})
			return
		}
	}
	r.attempts[begun] = a
	ready := &runstate.AttemptReady{Attempt: begun}
	if begun.Spec.Type == walk.TypeTool && begun.Effect != walk.EffectPure {
		ready.Uses = []domain.Use{{Kind: domain.UseTool, Name: begun.Spec.Tool}}
	}
	r.handle(ready)
}

// encode encodes a value of a run. The journal has it, so it can be encoded.
func encode(v any) domain.RawJSON {
	raw, err := jsonvalue.Encode(v)
	if err != nil {
		return domain.RawJSON("null")
	}
	return raw
}

// startAttempt starts the activity of an attempt.
func (r *runner) startAttempt(begun *runstate.Attempt) {
	a := r.attempts[begun]
	if a == nil {
		return
	}
	if a.local {
		r.post(func() {
			r.ended(begun, &runstate.AttemptDone{AttemptEnding: runstate.AttemptEnding{Attempt: begun}, Output: a.output,
				Raw: encode(a.output)})
		})
		return
	}
	limit := maxAttempt
	if a.task.Timeout > 0 {
		limit = a.task.Timeout + timeoutGrace
	}
	ctx, cancel := workflow.WithCancel(workflow.WithActivityOptions(r.ctx, workflow.ActivityOptions{
		TaskQueue:           wire.QueueOf(workflow.GetInfo(r.ctx).TaskQueueName, begun.Spec.Queue),
		StartToCloseTimeout: limit, HeartbeatTimeout: cmp.Or(r.in.LostAfter, lostAfter), WaitForCancellation: true,
		// The machine decides whether the step runs again.
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}}))
	a.cancel = cancel
	result := workflow.ExecuteActivity(ctx, wire.AttemptActivity, a.task)
	workflow.Go(r.ctx, func(own workflow.Context) {
		var end wire.Ending
		err := result.Get(own, &end)
		r.post(func() { r.ended(begun, eventOf(begun, a.cause, end, err)) })
	})
}

// ended passes the end of an attempt to the machine.
func (r *runner) ended(begun *runstate.Attempt, ev runstate.Event) {
	if r.attempts[begun] == nil {
		return
	}
	delete(r.attempts, begun)
	r.calls.settle(begun, ev)
	r.handle(ev)
}

// eventOf returns the event of the end of an attempt. cause is the reason why the run cancelled it.
func eventOf(begun *runstate.Attempt, cause runstate.StopCause, end wire.Ending, err error) runstate.Event {
	adopt := func(e *runstate.AttemptEnding) {
		e.Attempt = begun
		if cause != runstate.StopNone && e.Cause == runstate.StopCancelled {
			e.Cause = cause // the worker has no other reason than the cancel
		}
	}
	switch {
	case temporal.IsCanceledError(err): // no worker had begun it
		return &runstate.AttemptNotStarted{AttemptEnding: runstate.AttemptEnding{Attempt: begun, Cause: cause}}
	case err != nil: // the worker was lost, or could not report the end
		return &runstate.AttemptLost{Attempt: begun}
	case end.Abandoned != nil:
		adopt(&end.Abandoned.AttemptEnding)
		return end.Abandoned
	case end.NotStarted != nil:
		adopt(&end.NotStarted.AttemptEnding)
		return end.NotStarted
	case end.Done == nil:
		return &runstate.AttemptLost{Attempt: begun}
	}
	ev := end.Done
	adopt(&ev.AttemptEnding)
	if ev.Failure == nil && ev.Unstorable == nil {
		if ev.Output, err = runstate.Decode(ev.Raw); err != nil {
			ev.Unstorable = runstate.OutputFailure(begun.Spec.ID, err)
		}
	}
	return ev
}

// activeAttempt returns the active attempt of a step with a number, or nil.
func (r *runner) activeAttempt(k runstate.StepKey, number int) *runstate.Attempt {
	for begun, a := range r.attempts { // at most one matches
		if a.key == k && begun.Number == number {
			return begun
		}
	}
	return nil
}
