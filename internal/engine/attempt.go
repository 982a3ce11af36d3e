package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// attempt is one call of a handler. Its goroutine touches nothing of the run;
// it reports by a message.
type attempt struct {
	runstate.Attempt // never changed once the machine has it

	handlers *handlers
	inbox    *mailbox // of the runner that it reports to
	run      string
	priority int // the run's
	handler  Handler
	setup    *setup // that the handler is of; nil: it was left
	call     Call

	ctx    context.Context
	cancel context.CancelCauseFunc
	log    attemptLog
	signed atomic.Int64 // µs of its last sign of life

	mu sync.Mutex
	// over is set when the attempt ends, by the first of two: its handler or its
	// abandonment. A handler that comes second is late.
	over bool
	// uses is what took part and has not been reported to the runner.
	uses []domain.Use
	// asked is what a person must allow before the attempt can continue.
	asked []runstate.ConsentRequest
	// prompts are those of model calls, by sub-step, until its row is made.
	prompts map[int]domain.RawJSON
	// needed is what sub-steps are about to use.
	needed map[int]Need
}

func (p *preparation) newAttempt(h Handler, effect walk.Effect, input any) *attempt {
	a, m, w := p.runner, p.m, p.step
	node := m.State.WithOverrides(w.VisitKey, p.node)
	t := &attempt{handlers: a.e.handlers, inbox: &a.inbox, run: a.id, handler: h, priority: m.Run.Priority}
	t.Attempt = runstate.Attempt{StepKey: w.StepKey, Spec: node, Number: w.Attempt + 1, Effect: effect, StartedAt: a.e.now(),
		IdempotencyKey: a.e.handlers.idempotencyKey(a.id, m.State.IdempotencyName(node.ID), w.Visit, w.Item)}
	if s, ok := h.(Stepped); ok {
		t.Stepped = s.Stepped()
	}
	t.ctx, t.cancel = context.WithCancelCause(a.e.base)
	t.log.t = t
	t.sign()
	previous := previousResults(m.State, node.Index)
	substeps, grants := maps.Clone(w.Substeps), maps.Clone(w.Answers)
	t.call = Call{
		RunID: a.id, PlanKey: m.Run.PlanKey, Owner: m.Run.Actor, Session: cmp.Or(m.Run.Session, a.id), Node: node,
		Visit: w.Visit, Item: w.Item, Attempt: t.Number, Input: input, Last: m.State.Walk.Last(w.VisitKey),
		Plan: m.State.Program, Request: m.State.Request, IdempotencyKey: t.IdempotencyKey,
		Previous: func() []PreviousResult { return previous },
		Log:      t.log.line, Progress: t.log.progress,
	}
	t.call.Stream = func(text string) {
		t.sign()
		t.handlers.live(t.event("node_text", map[string]any{"text": t.handlers.current().mask(text)}))
	}
	t.call.Used = t.used
	if node.Type == walk.TypeTool && node.Tool != "" {
		t.used(domain.UseTool, node.Tool)
	}
	t.call.Substep = func(n int, kind, digest string, effect walk.Effect, fn func() (any, domain.Usage, error)) (any, error) {
		t.sign()
		defer t.sign()
		return t.runSubstep(substeps[n], n, kind, digest, effect, fn)
	}
	t.call.Asking, t.call.Needs = t.asking, t.needs
	t.call.Pass = func(n int, p Passing) error { return t.pass(substeps[n], n, p) }
	t.call.Answered = func(n, request int, p Passing, out any, err error) error {
		return t.handBack(substeps[n], n, request, p, out, err)
	}
	t.call.Approve = func(n int, q Question) error { return t.approve(grants, n, q) }
	return t
}

// previousResults lists the completed steps that a step depends on, in the order of the
// plan: in a sequence, all before it.
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

// late reports what the handler of an attempt returned that was given up; the run
// may have come to rest since.
func (t *attempt) late(out any, err error) {
	if !errors.Is(context.Cause(t.ctx), ErrFenced) {
		t.handlers.runs.post(t.run, lateMsg{t, out, err})
	}
}

// leave reports that the attempt does not work with its setup any more. It is called
// once: by its goroutine, or in its stead where it never began.
func (t *attempt) leave() {
	if t.setup != nil {
		t.setup.leave()
		t.setup = nil
	}
}

// end claims the right to say how the attempt ended.
func (t *attempt) end() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return false
	}
	t.over = true
	return true
}

// timedOut is how an attempt ends whose handler returned after its timeout: a
// failure, whatever it returned. The detail of a failure is kept.
func (t *attempt) timedOut(r Result, err error) error {
	f := (&walk.Failure{Code: walk.CodeTimeout}).WithMessage("timed out after %s", t.Spec.Timeout)
	if err == nil {
		t.late(r.Output, nil)
		return f
	}
	if said, ok := errors.AsType[*walk.Failure](err); ok {
		f.NoEffect, f.Detail = said.NoEffect, said.Message
	}
	return f.WithCause(err)
}

// attemptLog collects what a handler logs, up to a cap, and its last progress.
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
	l.t.signed.Store(now.UnixMicro())
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
		l.t.handlers.live(l.t.event("node_log", map[string]any{"level": level, "message": message}))
	}
}

func (l *attemptLog) progress(done, total int64, message string) {
	l.t.sign()
	p := &domain.Progress{Done: done, Total: total, Message: l.t.handlers.current().mask(message)}
	l.mu.Lock()
	l.last = p
	l.mu.Unlock()
	l.t.handlers.live(l.t.event("node_progress", map[string]any{"done": done, "total": total, "message": p.Message}))
}

// stored is the log as the row keeps it; nil when there is nothing.
func (l *attemptLog) stored() domain.RawJSON {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == 0 && l.last == nil {
		return nil
	}
	b, err := json.Marshal(domain.AttemptLog{Lines: l.lines, Dropped: l.dropped, Progress: l.last})
	if err != nil {
		return nil // strings and numbers only: cannot happen, and a log is not worth a run
	}
	return b
}

// mask takes secrets out of a text.
func (s *setup) mask(text string) string {
	if s.Secrets == nil || text == "" {
		return text
	}
	return string(s.Secrets.Mask([]byte(text)))
}

// event is a live event about an attempt.
func (t *attempt) event(typ string, data map[string]any) domain.Event {
	data["node"], data["visit"], data["attempt"] = t.Spec.ID, t.Visit, t.Number
	if t.Item != runstate.NoItem {
		data["item"] = t.Item
	}
	return domain.Event{Type: typ, Run: t.run, Session: t.call.Session, At: t.handlers.now(), Data: data}
}
