package engine

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kairosd/kairosd/internal/budget/runledger"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine/timing"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// Executor executes attempts of runs whose machine is in another program. It runs the same code as an [Engine], but it
// has no store: a [Recorder] makes the rows of sub-steps durable. It is safe for concurrent use.
type Executor struct {
	setup    atomic.Pointer[setup]
	handlers *handlers
	grace    time.Duration
	wg       sync.WaitGroup
}

// Recorder connects an attempt with the driver of its run.
type Recorder interface {
	// Record returns when the row of a sub-step is durable. The machine of the run handles it as an event. unreported means
	// that the provider did not report the usage of a model call.
	Record(ctx context.Context, row *runstate.SubstepRecorded, unreported bool) error
	// Reserve asks whether a model call may start. The answer is neither pending nor over; the error is then [ErrFenced]. The
	// error is [ErrStopping] if the attempt must continue in another history.
	Reserve(ctx context.Context, q runledger.Ask) (runledger.Answer, error)
	// Lose reports a call that ended without a row. If spent is false, it used nothing.
	Lose(ctx context.Context, substep int, spent bool) error
}

// ExecutorConfig is the configuration of an executor.
type ExecutorConfig struct {
	Setup  Setup
	Logger *slog.Logger // nil means no log
	// StopGrace and CancelGrace are as in [Options].
	StopGrace, CancelGrace time.Duration
}

// NewExecutor returns an executor.
func NewExecutor(c ExecutorConfig) (*Executor, error) {
	first, err := newSetup(c.Setup)
	if err != nil {
		return nil, err
	}
	log := c.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	x := &Executor{grace: cmp.Or(c.StopGrace, 10*time.Second)}
	x.setup.Store(first)
	x.handlers = &handlers{clock: timing.New(), setup: &x.setup, runs: newRegistry(nil, nil), live: func(domain.Event) {},
		cancelGrace: cmp.Or(c.CancelGrace, 4*time.Second), wg: &x.wg, log: log}
	return x, nil
}

// Proposal is a step that is about to run.
type Proposal struct {
	Plan         *runstate.Compiled
	Node         *walk.ProgramNode
	Run, PlanKey string
	Dry, Offline bool
	Answers      map[int]runstate.ConsentAnswer
	// Input has unresolved secrets. Resolve, if not nil, returns the input with secrets resolved.
	Input   any
	Resolve func(secret func(name string) (string, bool)) (any, *walk.Failure)
}

// Prepared is the answer to a proposal. At most one of Refused, Consent, and Skip is set.
type Prepared struct {
	Effect  walk.Effect
	Stepped bool // all effects happen in sub-steps
	Refused *walk.Failure
	Consent *runstate.ConsentRequest // the call that a person must approve first
	Skip    bool                     // a dry run skips the step
}

// Prepare determines what happens to a step: it may run with a side-effect class, is refused, needs an approval, or is
// skipped by a dry run.
func (x *Executor) Prepare(p Proposal) (out Prepared) {
	in := x.setup.Load()
	h, failure := in.handlerOf(p.Node)
	if failure != nil {
		return Prepared{Refused: failure}
	}
	if in.skips(p.Plan, p.Node, p.Dry, p.Offline, p.Input) {
		return Prepared{Skip: true}
	}
	if out.Consent, out.Refused = in.gate(p.PlanKey, p.Node, p.Input, p.Answers); out.Consent != nil || out.Refused != nil {
		return out
	}
	input, failure := x.Resolve(p)
	if failure != nil {
		return Prepared{Refused: failure}
	}
	out.Effect = effectIn(in.Registry, p.Plan, p.Node, input)
	if s, ok := h.(Stepped); ok {
		out.Stepped = s.Stepped()
	}
	return out
}

// Resolve returns the input of a step with secrets and the callback address resolved.
func (x *Executor) Resolve(p Proposal) (any, *walk.Failure) {
	if p.Resolve == nil {
		return p.Input, nil
	}
	return p.Resolve(x.setup.Load().lookup(p.Run, p.Node, p.Input))
}

// Execute executes an attempt and returns its end: an [runstate.AttemptDone], [runstate.AttemptAbandoned],
// or [runstate.AttemptNotStarted] event. The end of the context cancels the attempt, and stopping
// ends it after the grace period.
func (x *Executor) Execute(ctx context.Context, task Task, r Recorder, stopping <-chan struct{}) runstate.Event {
	in := x.use()
	h, failure := in.handlerOf(task.Spec)
	if failure != nil {
		in.leave()
		f := runstate.FromPlanner(failure, task.Spec.ID)
		f.Permanent, f.NoEffect = true, true
		return &runstate.AttemptDone{AttemptEnding: runstate.AttemptEnding{Attempt: &task.Attempt}, Failure: f}
	}
	inbox := newMailbox()
	t := newAttempt(context.WithoutCancel(ctx), x.handlers, &inbox, task, h)
	t.setup = in
	defer t.cancel(ErrFenced)
	defer context.AfterFunc(ctx, func() { t.cancel(ErrCancelled) })()
	over := make(chan struct{})
	defer close(over)
	x.wg.Go(func() {
		select {
		case <-stopping:
		case <-over:
			return
		}
		select {
		case <-time.After(x.grace):
			t.cancel(ErrStopping)
		case <-over:
		}
	})
	if context.Cause(t.ctx) != nil {
		t.leave()
		return &runstate.AttemptNotStarted{AttemptEnding: t.ending(context.Cause(t.ctx))}
	}
	x.handlers.start(t)
	host := newAttemptHost(&task, t, r)
	for {
		<-inbox.wake
		for _, m := range inbox.take() {
			if end := host.handle(ctx, m); end != nil {
				return end
			}
		}
	}
}

// use returns the active setup for an attempt.
func (x *Executor) use() *setup {
	for {
		if s := x.setup.Load(); s.enter() {
			return s
		}
	}
}

// BuiltinEffect returns the side-effect class of a built-in node, whose plan may declare it stricter than pure.
func BuiltinEffect(p *runstate.Compiled, n *walk.ProgramNode) walk.Effect {
	return effectIn(nil, p, n, nil)
}
