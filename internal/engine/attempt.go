package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kairosd/kairosd/internal/budget"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// attempt is one call of a handler. Its goroutine does not access the run. It reports by messages.
type attempt struct {
	runstate.Attempt // the machine keeps a reference, so it never changes

	handlers *handlers
	inbox    *mailbox // of the runner that it reports to
	run      string
	priority int // the run's
	handler  Handler
	setup    *setup // the setup of the handler; nil after leave
	call     Call
	live     func(domain.Event) // receives events that are not stored

	ctx          context.Context
	limited      context.Context // ctx with the timeout of the step; set before the handler starts
	cancel       context.CancelCauseFunc
	log          attemptLog
	lastActivity atomic.Int64 // time of its last activity in µs

	mu sync.Mutex
	// over is set when the attempt ends: by its handler or by its abandonment, whichever is first.
	// If the handler is second, its result is late.
	over bool
	// uses holds participants that have not been reported to the runner.
	uses []domain.Use
	// asked holds the calls that need the approval of a person before the attempt can continue.
	asked []runstate.ConsentRequest
	// prompts holds prompts of model calls by sub-step, until the row is written.
	prompts map[int]domain.RawJSON
	// expected holds the expected usage of sub-steps.
	expected map[int]ExpectedUsage
}

// Task is an attempt as values: everything that its handler needs. [Executor.Execute] can execute it in a program
// that does not have the run.
type Task struct {
	runstate.Attempt
	// Call holds the values of the call. Its functions are not set.
	Call     Call
	Priority int // of the run
	// Substeps are the recorded sub-steps, and Answers the answers to consent requests, by number.
	Substeps map[int]domain.Entry
	Answers  map[int]runstate.ConsentAnswer
	// Limits are the active limits of the run, and Spent is what it has used before the attempt. Budgets are the shared
	// budgets that can cover its calls.
	Limits  domain.Limits
	Spent   runstate.Spent
	Budgets budget.Scopes
	// Live receives the events of the attempt that are not stored. Nil means the readers of the engine.
	Live func(domain.Event)
}

// TaskOf returns the next attempt of a step. input is its resolved input.
func TaskOf(m *runstate.Machine, w *runstate.Step, effect walk.Effect, input any, now time.Time) Task {
	node := m.State.WithOverrides(w.VisitKey, &m.Program.Nodes[w.Node])
	t := Task{Priority: m.Run.Priority, Substeps: maps.Clone(w.Substeps), Answers: maps.Clone(w.Answers)}
	t.Attempt = runstate.Attempt{StepKey: w.StepKey, Spec: node, Number: w.Attempt + 1, Effect: effect, StartedAt: now}
	previous := previousResults(m.State, node.Index)
	t.Call = Call{
		RunID: m.Run.ID, PlanKey: planKey(m.Run, node), Owner: m.Run.Actor, Session: cmp.Or(m.Run.Session, m.Run.ID), Node: node,
		Visit: w.Visit, Item: w.Item, Attempt: t.Number, Failures: w.Failures, Input: input, Last: m.State.Walk.Last(w.VisitKey),
		Plan: m.State.Program, Request: m.State.Request,
		Previous: func() []PreviousResult { return previous },
	}
	return t
}

func (p *preparation) newAttempt(h Handler, effect walk.Effect, input any) *attempt {
	a, m, w := p.runner, p.m, p.step
	task := TaskOf(m, w, effect, input, a.e.now())
	task.IdempotencyKey = a.e.handlers.idempotencyKey(a.id, m.State.IdempotencyName(task.Spec.ID), w.Visit, w.Item)
	return newAttempt(a.e.base, a.e.handlers, &a.inbox, task, h)
}

// newAttempt connects a task with its handler and with the mailbox that it reports to.
func newAttempt(base context.Context, hs *handlers, inbox *mailbox, task Task, h Handler) *attempt {
	t := &attempt{handlers: hs, inbox: inbox, run: task.Call.RunID, handler: h, priority: task.Priority}
	t.Attempt, t.call = task.Attempt, task.Call
	if t.live = task.Live; t.live == nil {
		t.live = hs.live
	}
	t.call.IdempotencyKey = t.IdempotencyKey
	if s, ok := h.(Stepped); ok {
		t.Stepped = s.Stepped()
	}
	t.ctx, t.cancel = context.WithCancelCause(base)
	t.log.t = t
	t.touch()
	substeps, grants := task.Substeps, task.Answers
	t.call.Log, t.call.Progress = t.log.line, t.log.progress
	t.call.Stream = func(text string) {
		t.touch()
		t.publish("node_text", map[string]any{"text": t.handlers.current().mask(text)})
	}
	t.call.RecordUse = t.recordUse
	if node := t.Spec; node.Type == walk.TypeTool && node.Tool != "" {
		t.recordUse(domain.UseTool, node.Tool)
	}
	t.call.Substep = func(n int, kind, digest string, effect walk.Effect, fn func() (any, domain.Usage, error)) (any, error) {
		t.touch()
		defer t.touch()
		return t.runSubstep(substeps[n], n, kind, digest, effect, fn)
	}
	t.call.RecordPrompt, t.call.Expect = t.recordPrompt, t.expect
	t.call.RecordHandoff = func(n int, p HandoffRequest) error { return t.recordHandoff(substeps[n], n, p) }
	t.call.RecordHandoffResult = func(n, request int, p HandoffRequest, out any, err error) error {
		return t.recordHandoffResult(substeps[n], n, request, p, out, err)
	}
	t.call.Approve = func(n int, q CallToApprove) error { return t.approve(grants, n, q) }
	return t
}

// previousResults returns the completed steps that a step depends on, in the order of the plan. In
// a sequence, these are all previous steps.
func previousResults(s *runstate.State, node int) []PreviousResult {
	if s.Program.Kind != walk.KindSteps {
		return nil
	}
	var out []PreviousResult
	for i, needed := range runstate.Ancestors(s.Program, node) {
		n := &s.Program.Nodes[i]
		v, ok := s.Walk.Output(n.ID)
		if status, _ := s.Walk.Status(i); !needed || !ok || status != walk.Completed {
			continue
		}
		out = append(out, PreviousResult{Number: i + 1, Node: n.ID, Task: n.Task, Agent: cmp.Or(s.Agents[i], n.Agent), Output: v})
	}
	return out
}

// late reports the result of an abandoned attempt. The run may be idle now.
func (t *attempt) late(out any, err error) {
	if !errors.Is(context.Cause(t.ctx), ErrFenced) {
		t.handlers.runs.post(t.run, lateMsg{t, out, err})
	}
}

// leave reports that the attempt no longer uses its setup. It is called once: by the goroutine of
// the attempt, or on behalf of an attempt that never began.
func (t *attempt) leave() {
	if t.setup != nil {
		t.setup.leave()
		t.setup = nil
	}
}

// end marks the attempt as ended. It returns false if it was ended before.
func (t *attempt) end() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return false
	}
	t.over = true
	return true
}

// timedOut returns the failure of an attempt whose handler returned after its timeout, whatever it
// returned. A more specific failure keeps its detail.
func (t *attempt) timedOut(r Result, err error) error {
	f := (&walk.Failure{Code: walk.CodeTimeout}).WithMessage("timed out after %s", t.Spec.Timeout)
	if err == nil {
		t.late(r.Output, nil)
		return f
	}
	if reported, ok := errors.AsType[*walk.Failure](err); ok {
		f.NoEffect, f.Detail = reported.NoEffect, reported.Message
	}
	return f.WithCause(err)
}

// attemptLog collects the log of a handler, up to a limit, and its last progress.
type attemptLog struct {
	t *attempt

	mu      sync.Mutex
	lines   []domain.LogLine
	bytes   int
	dropped int
	last    *domain.Progress
}

func (l *attemptLog) line(level, message string) {
	now := l.t.handlers.now()
	l.t.lastActivity.Store(now.UnixMicro())
	message = l.t.handlers.current().mask(message)
	l.mu.Lock()
	kept := l.bytes+len(message) <= runstate.MaxLogBytes
	if kept {
		l.bytes += len(message) + 32
		l.lines = append(l.lines, domain.LogLine{At: now, Level: level, Message: message})
	} else {
		l.dropped++
	}
	l.mu.Unlock()
	if kept {
		l.t.publish("node_log", map[string]any{"level": level, "message": message})
	}
}

func (l *attemptLog) progress(done, total int64, message string) {
	l.t.touch()
	p := &domain.Progress{Done: done, Total: total, Message: l.t.handlers.current().mask(message)}
	l.mu.Lock()
	l.last = p
	l.mu.Unlock()
	l.t.publish("node_progress", map[string]any{"done": done, "total": total, "message": p.Message})
}

// stored encodes the log for the row. It returns nil if the log is empty.
func (l *attemptLog) stored() domain.RawJSON {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == 0 && l.last == nil {
		return nil
	}
	b, err := json.Marshal(domain.AttemptLog{Lines: l.lines, Dropped: l.dropped, Progress: l.last})
	if err != nil {
		return nil // strings and numbers can always be encoded
	}
	return b
}

// mask replaces secrets in a text.
func (s *setup) mask(text string) string {
	if s.Secrets == nil || text == "" {
		return text
	}
	return string(s.Secrets.Mask([]byte(text)))
}

// publish sends an event about an attempt that is not stored.
func (t *attempt) publish(typ string, data map[string]any) {
	data["node"], data["visit"], data["attempt"] = t.Spec.ID, t.Visit, t.Number
	if t.Item != runstate.NoItem {
		data["item"] = t.Item
	}
	t.live(domain.Event{Type: typ, Run: t.run, Session: t.call.Session, At: t.handlers.now(), Data: data})
}
