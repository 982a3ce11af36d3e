package engine

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"hash"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/planner/walk"
)

// attempt is one call of a handler. Its goroutine touches nothing of the run;
// it reports by a message.
type attempt struct {
	runstate.Attempt // never changed once the machine has it

	e        *Engine
	runner   *runner // whom it reports to
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
	// over is set by whoever ends the attempt first: its handler or its
	// abandonment. A handler that comes second is late.
	over bool
	// uses is what took part and has not been told to the runner.
	uses []domain.Use
	// asked is what a person must allow before the attempt can go on.
	asked []runstate.ConsentRequest
	// prompts are what models are asked, by sub-step, until its row is made.
	prompts map[int]domain.RawJSON
	// needed is what sub-steps are about to use.
	needed map[int]Need
}

func (p *preparation) newAttempt(h Handler, effect walk.Effect, input any) *attempt {
	a, m, w := p.runner, p.m, p.step
	node := m.State.WithOverrides(w.VisitKey, p.node)
	t := &attempt{e: a.e, runner: a, run: a.id, handler: h, priority: m.Run.Priority}
	t.Attempt = runstate.Attempt{StepKey: w.StepKey, Spec: node, Number: w.Attempt + 1, Effect: effect, StartedAt: a.e.now(),
		IdempotencyKey: a.e.handlers.idempotencyKey(a.id, m.State.IdempotencyName(node.ID), w.Visit, w.Item)}
	if s, ok := h.(Stepped); ok {
		t.Stepped = s.Stepped()
	}
	t.ctx, t.cancel = context.WithCancelCause(a.e.base)
	t.log.e, t.log.t = a.e, t
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
		t.e.Live(t.event("node_text", map[string]any{"text": t.e.current().mask(text)}))
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

// handlers runs the handlers of attempts and keeps track of those at work.
type handlers struct {
	e       *Engine
	running sync.Map  // of *attempt: those whose handlers run
	keyed   sync.Pool // of hash.Hash: what makes idempotency keys
}

// idempotencyKey is the same in all attempts of one visit and item, and new for
// every rerun and fork, whose run id differs.
func (h *handlers) idempotencyKey(run, node string, visit, item int) string {
	m, ok := h.keyed.Get().(hash.Hash)
	if !ok {
		m = hmac.New(sha256.New, h.e.store.InstanceKey())
	}
	defer h.keyed.Put(m)
	m.Reset()
	b := make([]byte, 0, 256)
	b = append(append(append(b, run...), 0), node...)
	b = strconv.AppendInt(append(b, 0), int64(visit), 10)
	b = strconv.AppendInt(append(b, 0), int64(item), 10)
	m.Write(b)
	return keyText.EncodeToString(m.Sum(b[:0])[:20])
}

// keyText is how idempotency keys are written.
var keyText = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// start runs an attempt whose intent is durable. The timeout begins now.
func (h *handlers) start(t *attempt) {
	t.sign()
	h.running.Store(t, struct{}{})
	h.e.wg.Go(func() {
		defer h.running.Delete(t)
		defer t.leave() // also when the attempt was abandoned long ago: now nobody works with it
		ctx, stop := t.ctx, context.CancelFunc(func() {})
		if t.Spec.Timeout > 0 {
			ctx, stop = context.WithTimeoutCause(t.ctx, t.Spec.Timeout, ErrTimeout)
		}
		defer stop()
		unwatch := context.AfterFunc(ctx, func() {
			cause := context.Cause(ctx)
			grace := timeoutGrace
			switch {
			case errors.Is(cause, ErrCancelled):
				grace = h.e.opts.CancelGrace
			case errors.Is(cause, ErrStopping):
				grace = abandonStopped
			case errors.Is(cause, ErrFenced):
				return
			}
			time.AfterFunc(grace, func() {
				if t.end() {
					t.runner.inbox.post(abandonMsg{t})
				}
			})
		})
		result, err := guard(ctx, t)
		if errors.Is(context.Cause(ctx), ErrTimeout) {
			err = t.timedOut(result, err)
		}
		unwatch()
		if t.end() {
			t.runner.inbox.post(doneMsg{t, result, err}) // lives until it has this, or has fenced the attempt
		} else {
			t.late(result.Output, err)
		}
	})
}

// late reports what the handler of an attempt returned that was given up; the run
// may have come to rest since.
func (t *attempt) late(out any, err error) {
	if !errors.Is(context.Cause(t.ctx), ErrFenced) {
		t.e.post(t.run, lateMsg{t, out, err})
	}
}

// leave says that the attempt does not work with its setup any more. It is called
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
// failure, whatever it returned. A failure that says more is kept.
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

// guard calls the handler; a panic is the node's failure.
func guard(ctx context.Context, t *attempt) (r Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{p, string(debug.Stack())}
		}
	}()
	call := t.call
	failpoint.Hit("exec.before")
	r, err = t.handler.Handle(ctx, &call)
	failpoint.Hit("exec.after")
	return r, err
}

// constant is the handler of a built-in node that runs as an attempt.
func constant(out any) Handler {
	return HandlerFunc(func(context.Context, *Call) (Result, error) { return Result{Output: out}, nil })
}

// attemptLog collects what a handler logs, up to a cap, and its last progress.
type attemptLog struct {
	e *Engine
	t *attempt

	mu      sync.Mutex
	lines   []domain.LogLine
	bytes   int
	dropped int
	last    *domain.Progress
}

func (l *attemptLog) line(level, message string) {
	now := l.e.now()
	l.t.signed.Store(now.UnixMicro())
	message = l.e.current().mask(message)
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
		l.e.Live(l.t.event("node_log", map[string]any{"level": level, "message": message}))
	}
}

func (l *attemptLog) progress(done, total int64, message string) {
	l.t.sign()
	p := &domain.Progress{Done: done, Total: total, Message: l.e.current().mask(message)}
	l.mu.Lock()
	l.last = p
	l.mu.Unlock()
	l.e.Live(l.t.event("node_progress", map[string]any{"done": done, "total": total, "message": p.Message}))
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

// logsOf puts what running attempts have logged so far on their intent rows, so
// that a run can be followed while it works. The rows are a copy.
func (h *handlers) logsOf(run string, journal []domain.Entry) {
	for key := range h.running.Range {
		t := key.(*attempt)
		if t.run != run {
			continue
		}
		for i := range slices.Backward(journal) {
			r := &journal[i]
			if r.Kind == domain.EntryIntent && r.Substep == 0 && r.Node == t.Spec.ID && r.Visit == t.Visit && r.Item == t.Item &&
				r.Attempt == t.Number {
				r.Log = t.log.stored()
				break
			}
		}
	}
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
	return domain.Event{Type: typ, Run: t.run, Session: t.call.Session, At: t.e.now(), Data: data}
}

// executes reports whether an attempt of the run is under way in this engine.
func (h *handlers) executes(run string) bool {
	for key := range h.running.Range {
		if key.(*attempt).run == run {
			return true
		}
	}
	return false
}
