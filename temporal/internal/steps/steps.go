// Package steps contains the activities of runs: it prepares and executes attempts with the code of the engine, and
// reports checkpoints to kairosd.
package steps

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/kairosd/kairosd/internal/budget/runledger"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/tail"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/temporal/internal/driver"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// Activities contains the activities of a worker.
type Activities struct {
	Executor *engine.Executor
	Programs *driver.Programs
	// Send delivers the row of a sub-step to the workflow of the attempt. It returns when the row is in the history, and
	// for an intent when the workflow has accepted it.
	Send func(ctx context.Context, workflow, run string, s wire.Substep) error
	// Converter converts the values in histories. If it is nil, the size of outputs is not checked.
	Converter converter.DataConverter
	// Reserve asks the workflow whether a model call may start, until there is an answer. The error is [engine.ErrStopping] if
	// the history of the workflow has no place for the question.
	Reserve func(ctx context.Context, workflow, run string, q wire.Reserve) (runledger.Answer, error)
}

// Prepare determines what happens to a step.
func (a *Activities) Prepare(_ context.Context, p wire.Proposal) (wire.Prepared, error) {
	plan, node, failure := a.node(p.Version, p.Profile, p.Node)
	if failure != nil {
		return wire.Prepared{Refused: runstate.FromPlanner(failure, p.Node)}, nil
	}
	input, err := runstate.Decode(p.Input)
	if err != nil {
		return wire.Prepared{}, err
	}
	q := engine.Proposal{Plan: plan, Node: node, Run: p.Run, PlanKey: p.PlanKey, Dry: p.Dry, Offline: p.Offline, Answers: p.Answers,
		Input: input}
	if p.Mark != "" && node.Type == walk.TypeTool {
		dispatch, err := runstate.Decode(p.Secrets)
		if err != nil {
			return wire.Prepared{}, err
		}
		q.Resolve = func(secret func(name string) (string, bool)) (any, *walk.Failure) {
			return driver.Unmark(dispatch, p.Mark, withCallback(secret, p.Callback))
		}
	}
	out := a.Executor.Prepare(q)
	return wire.Prepared{Effect: string(out.Effect), Stepped: out.Stepped, Refused: runstate.FromPlanner(out.Refused, p.Node),
		Consent: out.Consent, Skip: out.Skip}, nil
}

// withCallback finds secrets, and the callback address of the run.
func withCallback(secret func(name string) (string, bool), address string) func(name string) (string, bool) {
	return func(name string) (string, bool) {
		if name == walk.CallbackName {
			return address, address != ""
		}
		return secret(name)
	}
}

// node compiles a version with the configuration of this worker, and finds a node.
func (a *Activities) node(v domain.Version, profile, id string) (*runstate.Compiled, *walk.ProgramNode, *walk.Failure) {
	p, err := a.Programs.Get(v, profile)
	if err != nil {
		return nil, nil, (&walk.Failure{Code: walk.CodeFailed, Permanent: true, NoEffect: true}).WithMessage("%s", err)
	}
	i, ok := p.Index[id]
	if !ok {
		return nil, nil, (&walk.Failure{Code: walk.CodeFailed, Permanent: true, NoEffect: true}).WithMessage("the plan has no node %q", id)
	}
	return p, &p.Nodes[i], nil
}

// Attempt executes an attempt and returns its end. An error means that the attempt did not begin.
func (a *Activities) Attempt(ctx context.Context, w wire.Attempt) (wire.Ending, error) {
	task, failure := a.task(w)
	if failure != nil {
		return wire.Ending{Done: &runstate.AttemptDone{Failure: failure}}, nil
	}
	output := tail.NewRecorder(tail.Tail{Run: w.Run, Session: task.Call.Session, Node: task.Spec.ID, Visit: w.Key.Visit,
		Item: w.Key.Item, Attempt: w.Number, StartedAt: w.StartedAt})
	task.Live = output.Add
	active, stop := context.WithCancel(ctx)
	defer stop()
	go heartbeat(active, output)
	ev := a.Executor.Execute(ctx, task, recorder{a, w}, activity.GetWorkerStopChannel(ctx))
	switch ev := ev.(type) {
	case *runstate.AttemptDone:
		ev.Attempt, ev.Output = nil, nil
		if a.Converter != nil && !wire.Small(len(ev.Raw)) && !wire.Fits(a.Converter, wire.Ending{Done: ev}) {
			ev.Raw, ev.Unstorable = nil, driver.LargeOutput(w.Node)
		}
		return wire.Ending{Done: ev}, nil
	case *runstate.AttemptAbandoned:
		ev.Attempt = nil
		return wire.Ending{Abandoned: ev}, nil
	case *runstate.AttemptNotStarted:
		ev.Attempt = nil
		return wire.Ending{NotStarted: ev}, nil
	}
	return wire.Ending{}, temporal.NewNonRetryableApplicationError("the attempt has no end", string(domain.CodeInternal), nil)
}

// OutputPause is the shortest time between two heartbeats with new output. The first one follows after half of it.
const OutputPause = 2 * time.Second

// heartbeat shows the server that the worker lives, and the last output of the attempt, until the context ends. Each heartbeat replaces
// the output of the one before, and costs the server a write.
func heartbeat(ctx context.Context, output *tail.Recorder) {
	quiet := activity.GetInfo(ctx).HeartbeatTimeout / 3
	if quiet == 0 {
		return // a report of a run that an older worker executes
	}
	pause := min(OutputPause/2, quiet)
	var details []any
	for last := time.Now(); ; last = time.Now() {
		select {
		case <-time.After(quiet):
		case <-output.Changed():
			select {
			case <-time.After(time.Until(last.Add(pause))):
			case <-ctx.Done():
				return
			}
			details, pause = []any{output.Tail()}, min(OutputPause, quiet)
		case <-ctx.Done():
			return
		}
		activity.RecordHeartbeat(ctx, details...)
	}
}

// task returns the task of an attempt, with secrets resolved.
func (a *Activities) task(w wire.Attempt) (t engine.Task, f *domain.Failure) {
	refuse := func(failure *walk.Failure) (engine.Task, *domain.Failure) {
		failure.Permanent, failure.NoEffect = true, true
		return t, runstate.FromPlanner(failure, w.Node)
	}
	plan, node, failure := a.node(w.Version, w.Profile, w.Node)
	if failure != nil {
		return refuse(failure)
	}
	own := *node
	own.Timeout = w.Timeout
	var values [3]any
	for i, raw := range []domain.RawJSON{w.Input, w.Last, w.Request} {
		v, err := runstate.Decode(raw)
		if err != nil {
			return refuse((&walk.Failure{Code: walk.CodeInvalidInput}).WithMessage("a value of the step cannot be read: %s", err))
		}
		values[i] = v
	}
	input := values[0]
	if w.Mark != "" {
		plain, err := runstate.Decode(w.Plain)
		if err != nil {
			return refuse((&walk.Failure{Code: walk.CodeInvalidInput}).WithMessage("a value of the step cannot be read: %s", err))
		}
		if node.Type != walk.TypeTool { // secrets are only for tools
			values[0] = plain
		}
		input, failure = a.Executor.Resolve(engine.Proposal{Node: node, Run: w.Run, Input: plain,
			Resolve: func(secret func(name string) (string, bool)) (any, *walk.Failure) {
				return driver.Unmark(values[0], w.Mark, withCallback(secret, w.Callback))
			}})
		if failure != nil {
			return refuse(failure)
		}
	}
	t = engine.Task{Priority: w.Priority, Answers: w.Answers, Limits: w.Limits, Spent: w.Spent, Budgets: w.Budgets}
	t.Attempt = runstate.Attempt{StepKey: w.Key, Spec: &own, Number: w.Number, Effect: walk.Effect(w.Effect), Stepped: w.Stepped,
		Input: w.Input, IdempotencyKey: w.IdempotencyKey, StartedAt: w.StartedAt}
	t.Call = engine.Call{RunID: w.Run, PlanKey: w.PlanKey, Owner: w.Owner, Session: w.Session, Node: &own, Visit: w.Key.Visit,
		Item: w.Key.Item, Attempt: w.Number, Input: input, Last: values[1], Request: values[2], Plan: plan.Program,
		Previous: func() []engine.PreviousResult { return previous(w.Previous) }}
	if len(w.Substeps) > 0 {
		t.Substeps = map[int]domain.Entry{}
		for _, s := range w.Substeps {
			t.Substeps[s.Substep] = s
		}
	}
	return t, nil
}

func previous(list []wire.Previous) []engine.PreviousResult {
	var out []engine.PreviousResult
	for _, p := range list {
		v, err := jsonvalue.Decode(p.Output)
		if err != nil {
			v = nil // the workflow encoded it
		}
		out = append(out, engine.PreviousResult{Number: p.Number, Node: p.Node, Task: p.Task, Agent: p.Agent, Output: v})
	}
	return out
}

// recorder sends the rows of sub-steps to the workflow.
type recorder struct {
	a *Activities
	w wire.Attempt
}

func (r recorder) Record(ctx context.Context, row *runstate.SubstepRecorded, unreported bool) error {
	s := wire.Substep{Key: r.w.Key, Number: r.w.Number, Row: *row, Unreported: unreported}
	s.Row.Attempt = nil
	err := r.a.Send(ctx, r.w.Workflow, r.w.WorkflowRun, s)
	if refused, ok := errors.AsType[*temporal.ApplicationError](err); ok && refused.Type() == string(domain.CodeConflict) {
		return engine.ErrFenced
	}
	return err
}

func (r recorder) Reserve(ctx context.Context, q runledger.Ask) (runledger.Answer, error) {
	answer, err := r.a.Reserve(ctx, r.w.Workflow, r.w.WorkflowRun, wire.Reserve{ID: domain.NewID(), Key: r.w.Key, Number: r.w.Number,
		Ask: q})
	if err == nil && answer.Over {
		err = engine.ErrFenced
	}
	return answer, err
}

func (r recorder) Lose(ctx context.Context, substep int, spent bool) error {
	return r.a.Send(ctx, r.w.Workflow, r.w.WorkflowRun, wire.Substep{Key: r.w.Key, Number: r.w.Number,
		Lost: &wire.Lost{Substep: substep, Spent: spent}})
}
