// Package driver runs a plan as a Temporal workflow. The workflow holds the machine of the run, as the runner of the
// SQLite engine does: it turns what happens to a workflow into events, and executes the commands that follow. Its code
// is deterministic: it uses the clock, the coroutines, and the order of the SDK only.
package driver

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// timeUnit is the precision of times in a journal.
const timeUnit = time.Microsecond

// Workflows contains the workflow of runs.
type Workflows struct {
	Programs Programs
	// Converter converts the values in histories. If it is nil, the size of values is not checked.
	Converter converter.DataConverter
}

// Run executes a run and returns it as it ended.
func (w *Workflows) Run(ctx workflow.Context, in wire.Input) (domain.Run, error) {
	check(in)
	return w.newRunner(ctx, in).loop(ctx)
}

// runner executes one run.
type runner struct {
	ctx      workflow.Context // does not end with the workflow's context
	in       wire.Input
	flows    *Workflows
	programs *Programs
	m        *runstate.Machine // after load
	mark     string
	begin    time.Time
	events   uint64 // counts environments, for random numbers
	seed     uint64

	mail     []func() // what happened, in order
	began    bool
	attempts map[*runstate.Attempt]*attempt
	children children
	calls    calls
	timer    alarm
	deadline alarm
	journal  []domain.Entry
	reports  reporter
	// admitted reports that the run does not wait for its concurrency key.
	admitted bool
	// recalling is the number of questions for memory that wait for kairosd.
	recalling int
	awaiting  bool // a request, for which the workflow was started
	// replanning reports that a request for a new version of the plan is active.
	replanning bool
	leaving    bool // the run continues in another workflow run as soon as nothing is active
}

func (w *Workflows) newRunner(ctx workflow.Context, in wire.Input) *runner {
	detached, _ := workflow.NewDisconnectedContext(ctx)
	r := &runner{ctx: detached, in: in, flows: w, programs: &w.Programs, mark: markOf(in.Key, in.Run.ID), begin: workflow.Now(ctx),
		attempts: map[*runstate.Attempt]*attempt{}, journal: in.Journal, admitted: !in.Waits()}
	r.children.r, r.calls.r, r.timer.r, r.deadline.r, r.reports.r = r, r, r, r, r
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", in.Run.ID, in.Position())
	r.seed = h.Sum64()
	return r
}

// load folds the rows so far.
func (r *runner) load() error {
	run := r.in.Run
	for int64(len(r.journal)) < r.in.Rows {
		var page []domain.Entry
		err := workflow.ExecuteActivity(r.control(r.ctx), wire.RowsActivity,
			wire.Rows{Run: run.ID, First: int64(len(r.journal)) + 1, Last: r.in.Rows}).Get(r.ctx, &page)
		if err != nil {
			return err
		}
		r.journal = append(r.journal, page...)
	}
	prog, state, err := r.programs.Fold(run, r.journal, r.known)
	if err != nil {
		return err
	}
	r.m = runstate.NewMachine(run, prog, state, 0)
	r.reports.fence = state.Seq
	return nil
}

// known returns a version of the run or of one of its sub-plans.
func (r *runner) known(hash string) (domain.Version, error) {
	v, ok := r.in.Versions[hash]
	if !ok {
		return v, domain.Errorf(domain.CodeNotFound, "the run has no version %s", hash)
	}
	return v, nil
}

// loop handles events until the run has ended and everything is reported.
func (r *runner) loop(ctx workflow.Context) (domain.Run, error) {
	if err := r.listen(ctx); err != nil {
		return domain.Run{}, err
	}
	if err := r.load(); err != nil {
		return domain.Run{}, applicationError(err)
	}
	if r.in.Reopen {
		r.awaitRequest()
	}
	if err := r.announce(); err != nil {
		return domain.Run{}, err
	}
	r.reports.start()
	r.handle(&runstate.Recover{})
	for _, c := range r.m.Pending() {
		if _, asks := c.Task.(runstate.AskReplan); !asks { // Advance repeats it when the run may follow a version
			r.execute(c.Task)
		}
	}
	if b := r.in.Begin; b != nil {
		if err := r.act(*b); err != nil {
			return domain.Run{}, applicationError(err)
		}
	}
	for {
		for len(r.mail) > 0 {
			next := r.mail[0]
			r.mail = r.mail[1:]
			next()
		}
		r.leaving = r.leaving || workflow.GetInfo(r.ctx).GetContinueAsNewSuggested()
		r.advance()
		r.handle(runstate.Complete{})
		if len(r.mail) > 0 {
			continue
		}
		quiet := r.reports.done() && workflow.AllHandlersFinished(r.ctx)
		switch {
		case r.m.Ended() && quiet && !r.awaiting && r.children.settled():
			run := r.m.Run
			run.Input = nil // it is in the history
			return run, nil
		case r.leaving && quiet && len(r.attempts) == 0 && !r.replanning && r.children.none() && !r.m.Ended():
			return r.m.Run, r.continueAsNew(ctx)
		}
		if err := workflow.Await(r.ctx, func() bool { return len(r.mail) > 0 }); err != nil {
			return r.m.Run, err
		}
	}
}

// post adds an event. The loop handles events one at a time, in order.
func (r *runner) post(happened func()) { r.mail = append(r.mail, happened) }

// wake makes the loop check whether it is done.
func (r *runner) wake() { r.post(func() {}) }

// continueAsNew continues the run in a new workflow run with an empty history.
func (r *runner) continueAsNew(ctx workflow.Context) error {
	env := r.env()
	env.Stopping = true
	if err := r.decideIn(runstate.Shutdown{}, env); err != nil {
		return err
	}
	if err := r.decideIn(runstate.Complete{}, env); err != nil {
		return err
	}
	if err := workflow.Await(r.ctx, r.reports.done); err != nil {
		return err
	}
	next := r.in
	next.Run, next.Journal, next.Rows = r.m.Run, r.journal, 0
	next.Run.RunningTime = r.m.Spent(env.Monotonic).Time
	next.Elapsed = env.Monotonic
	next.Known, next.Reopen, next.Begin, next.Admitted = true, false, nil, r.admitted
	if next.Report {
		next.Shrink()
	}
	return workflow.NewContinueAsNewError(ctx, wire.RunWorkflow, next)
}

func (r *runner) now() time.Time { return workflow.Now(r.ctx).UTC().Truncate(timeUnit) }

// env returns the external values of a decision. All of them are the same in a replay.
func (r *runner) env() runstate.Env {
	r.events++
	return runstate.Env{Now: r.now(), Monotonic: r.monotonic(),
		Jitter: [2]float64{r.random(0), r.random(1)}, HasSlot: r.admitted, Hold: len(r.mail) > 0 || r.leaving,
		Maintenance: r.in.Hold.On, Options: &r.in.Options, Storable: r.storable}
}

// monotonic returns a reading of the monotonic clock.
func (r *runner) monotonic() time.Duration {
	return r.in.Elapsed + workflow.Now(r.ctx).Sub(r.begin) + timeUnit
}

// random returns a number in [0, 1) that depends only on the run and on the number of its events.
func (r *runner) random(n uint64) float64 {
	x := r.seed + (2*r.events+n)*0x9e3779b97f4a7c15 // splitmix64
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return float64((x^x>>31)>>11) / (1 << 53)
}

// decide passes an event to the machine and executes the result.
func (r *runner) decide(ev runstate.Event) error { return r.decideIn(ev, r.env()) }

func (r *runner) decideIn(ev runstate.Event, env runstate.Env) error {
	d, err := r.m.Handle(ev, env)
	for i := range d.Checkpoints {
		r.journal = append(r.journal, d.Checkpoints[i].Entries...)
		r.reports.add(d.Checkpoints[i])
	}
	r.began = d.Began
	// A command may lead to another event, whose commands run first. What a command depends on is in the history with it.
	for _, c := range slices.Clone(d.Commands) {
		r.execute(c.Task)
	}
	return err
}

// handle is decide for events that the machine never refuses.
func (r *runner) handle(ev runstate.Event) {
	if err := r.decide(ev); err != nil {
		panic(fmt.Sprintf("driver: run %s: %T: %v", r.in.Run.ID, ev, err))
	}
}

// advance starts everything that may start.
func (r *runner) advance() {
	for {
		r.handle(runstate.Advance{})
		if !r.began {
			return
		}
	}
}

// execute executes a command.
func (r *runner) execute(task runstate.Task) {
	switch t := task.(type) {
	case runstate.PrepareAttempt:
		r.prepare(t.StepKey)
		r.began = true
	case runstate.StartAttempt:
		r.startAttempt(t.Attempt)
	case runstate.CancelAttempt:
		if a := r.attempts[t.Attempt]; a != nil {
			a.cause = t.Cause
			a.cancel()
		}
	case runstate.FreeCalls:
		r.calls.changed()
	case runstate.FindChild:
		r.children.find(t.StepKey)
	case runstate.StartChild:
		r.children.start(t)
	case runstate.CancelChild:
		r.children.cancel(t.ID)
	case runstate.CancelOtherChildren:
		r.children.cancelExcept(t.Needed)
	case runstate.AskReplan:
		r.replan(t.StepKey)
	case runstate.VersionChanged:
		r.versionChanged()
	case runstate.ArmTimer:
		r.timer.arm(t.At, func() { r.handle(runstate.TimerDue{}) })
	case runstate.ArmDeadline:
		at := time.Time{}
		if t.In > 0 {
			at = r.now().Add(t.In)
		}
		r.deadline.arm(at, func() { r.handle(runstate.DeadlinePassed{}) })
	}
}

// alarm is a timer that can be set again.
type alarm struct {
	r      *runner
	at     time.Time
	cancel workflow.CancelFunc
}

// arm calls fire at a time. Zero disarms the timer.
func (a *alarm) arm(at time.Time, fire func()) {
	if at.Equal(a.at) {
		return
	}
	if a.cancel != nil {
		a.cancel()
		a.cancel = nil
	}
	if a.at = at; at.IsZero() {
		return
	}
	ctx, cancel := workflow.WithCancel(a.r.ctx)
	a.cancel = cancel
	due := workflow.NewTimer(ctx, max(at.Sub(workflow.Now(ctx)), time.Millisecond))
	workflow.Go(a.r.ctx, func(own workflow.Context) {
		if due.Get(own, nil) != nil || !a.at.Equal(at) {
			return // it was set again
		}
		a.at, a.cancel = time.Time{}, nil
		a.r.post(fire)
	})
}

// checkDecision returns the step with an open request of the run, the request, and the answer to it.
func (r *runner) checkDecision(req *domain.DecideRequest) (w *runstate.Step, p domain.Approval, answer domain.Answer, err error) {
	if w, err = runstate.PendingApproval(r.m.State, req.Approval); err != nil {
		return w, p, answer, err
	}
	p = runstate.ApprovalRequest(&r.m.Run, r.m.State, w)
	answer, err = engine.CheckDecision(context.Background(), p, req)
	return w, p, answer, err
}

// refusal returns the error of a domain, which callers show, or nil.
func refusal(err error) *domain.Error {
	if e, ok := errors.AsType[*domain.Error](err); ok {
		return e
	}
	return nil
}
