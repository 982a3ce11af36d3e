package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/planner/walk"
)

// env returns the external values that the machine needs.
func (a *runner) env() runstate.Env {
	return runstate.Env{Now: a.e.now(), Monotonic: a.e.clock.Monotonic(), Jitter: [2]float64{rand.Float64(), rand.Float64()},
		HasSlot: a.slots.token != 0, Stopping: a.stopping, Maintenance: a.e.maintenance.Load(),
		Hold: a.inbox.filled.Load() || a.pipe.unacked() >= a.ahead(), Options: a.options.get(a.e, a.m.Program)}
}

// optionsCache caches the settings of a setup for a program.
type optionsCache struct {
	of      *setup
	program *runstate.Compiled
	options runstate.Options
}

// get returns the options of the active setup. It computes them once per setup and program.
func (c *optionsCache) get(e *Engine, p *runstate.Compiled) *runstate.Options {
	in := e.current()
	if in == c.of && p == c.program {
		return &c.options
	}
	c.of, c.program = in, p
	c.options = runstate.Options{Safe: e.opts.Safe, Replans: e.replans.planner != nil, MaxReplans: in.MaxReplans,
		QuarantineAfter: e.opts.QuarantineAfter, ConsentTimeout: in.ConsentTimeout, Agents: in.nodeAgents(p)}
	return &c.options
}

// decide passes an event to the machine and executes the result. If it returns an error, nothing
// was executed.
func (a *runner) decide(ev runstate.Event) error {
	d, err := a.m.Handle(ev, a.env())
	for i := range d.Checkpoints {
		a.pipe.complete(d.Checkpoints[i])
		failpoint.Hit("advance")
		if a.pipe.completed-a.pipe.handed >= handOverAt {
			a.pipe.handOver()
		}
	}
	a.began = d.Began
	// A command may lead to another event, whose commands run first.
	start := len(a.todo)
	a.todo = append(a.todo, d.Commands...)
	for i := start; i < len(a.todo); i++ {
		if c := a.todo[i]; c.After > 0 {
			a.pipe.executeAfter(c.After, c.Task)
		} else {
			a.execute(c.Task, nil)
		}
	}
	clear(a.todo[start:])
	a.todo = a.todo[:start]
	return err
}

// handle is decide for events that the machine never refuses.
func (a *runner) handle(ev runstate.Event) {
	if err := a.decide(ev); err != nil {
		panic(fmt.Sprintf("engine: run %s: %T: %v", a.id, ev, err))
	}
}

// advance starts everything that may start.
func (a *runner) advance() {
	for {
		a.handle(runstate.Advance{})
		if !a.began {
			return
		}
	}
}

// flush completes the current checkpoint. The store gets it with the next handOver, at the latest
// before the goroutine of the run waits.
func (a *runner) flush() {
	if a.m == nil || a.pipe.broken || a.dropped {
		return
	}
	before := a.pipe.completed
	a.handle(runstate.Complete{})
	if a.pipe.completed == before {
		a.pipe.nothingToWrite()
	}
}

// execute executes a command. If err is not nil, the checkpoint that it depends on is not durable,
// and the command must not be executed.
func (a *runner) execute(task runstate.Task, err error) {
	if t, ok := task.(runstate.StartAttempt); ok {
		a.startAttempt(t.Attempt, err)
		return
	}
	if err != nil {
		return
	}
	if a.e.starts.remote.ignores(task) {
		a.began = false
		return
	}
	switch t := task.(type) {
	case runstate.TakeSlot:
		a.began = a.slots.take(&a.m.Run)
	case runstate.YieldSlot:
		a.slots.yield()
	case runstate.PrepareAttempt:
		a.began = a.prepare(t.StepKey)
	case runstate.CancelAttempt:
		if under := a.attempts[t.Attempt]; under != nil {
			under.cancel(stopErrors[t.Cause])
		}
	case runstate.FreeCalls:
		a.startWaitingCalls()
	case runstate.FindChild:
		a.findChild(t.StepKey)
	case runstate.StartChild:
		a.e.background(func() { a.e.children.ensure(t.ID, t.Hash, t.Input, t.Parent, t.Resume) })
	case runstate.CancelChild:
		a.e.background(func() { a.e.children.cancel(t.ID, t.Overdue) })
	case runstate.CancelOtherChildren:
		a.e.children.cancelExcept(a.id, t.Needed)
	case runstate.FindRoom:
		a.e.post(a.id, roomMsg{})
	case runstate.FindSignal:
		a.e.background(func() { a.e.signals.match(a.e.base, t.Name, t.Key) })
	case runstate.AskReplan:
		if _, busy := a.e.replans.planning.LoadOrStore(a.id, true); !busy {
			a.e.background(func() { a.e.replans.perform(a.id) })
		}
	case runstate.VersionChanged:
		a.e.watchers.changed(a.id, a.m.Run.Status)
	case runstate.ArmTimer:
		a.e.timers.Set(a.id, t.At)
	case runstate.ArmDeadline:
		e, id := a.e, a.id
		a.deadline.arm(t.In, func() { e.post(id, deadlineMsg{}) })
	case runstate.StatusChanged:
		a.statusChanged(t.Status)
	}
}

// stopErrors maps the reason of a stop to the cause of the handler's context.
var stopErrors = map[runstate.StopCause]error{runstate.StopShutdown: ErrStopping, runstate.StopCancelled: ErrCancelled,
	runstate.StopBudget: ErrBudget}

// stopCause returns the reason of a stop for the cause of a context.
func stopCause(cause error) runstate.StopCause {
	switch {
	case errors.Is(cause, ErrBudget):
		return runstate.StopBudget
	case errors.Is(cause, ErrStopping):
		return runstate.StopShutdown
	case errors.Is(cause, ErrCancelled):
		return runstate.StopCancelled
	}
	return runstate.StopNone
}

// startAttempt calls the handler of an attempt. If err is not nil, the attempt never begins.
func (a *runner) startAttempt(begun *runstate.Attempt, err error) {
	t := a.attempts[begun]
	if t == nil {
		return
	}
	if t.Effect == walk.EffectPure && err == nil {
		a.e.handlers.start(t)
		return
	}
	failpoint.Hit("intent.durable")
	if err != nil {
		t.leave() // the attempt never begins
		return
	}
	if a.stopping || context.Cause(t.ctx) != nil {
		a.unstarted(t)
		return
	}
	a.e.handlers.start(t)
}

// deadline is the timer of max_duration.
type deadline struct{ timer *time.Timer }

// arm calls fire after the given time. 0 disarms it.
func (d *deadline) arm(in time.Duration, fire func()) {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if in > 0 {
		d.timer = time.AfterFunc(in, fire)
	}
}

// statusChanged announces the status of the run, which is durable.
func (a *runner) statusChanged(status domain.RunStatus) {
	a.e.watchers.changed(a.id, status)
	if status.Final() && a.m.Ended() { // otherwise it was resumed meanwhile
		a.e.sched.ended(a.id, concurrencyKey(&a.m.Run))
		if p := a.m.Run.Parent; p != nil {
			a.e.post(p.Run, childMsg{run: a.id})
		}
	}
}

// freeNodes returns node slots that the run does not need.
func (a *runner) freeNodes() {
	for a.slots.nodes > 0 && a.nothingStarts() {
		a.slots.releaseNode()
	}
}
