package driver

import (
	"cmp"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/kairosd/kairosd/internal/budget"
	"github.com/kairosd/kairosd/internal/budget/runledger"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// maxWaitingUpdates is the number of questions whose updates wait for their answer. Temporal permits 10 updates in flight, and
// requests of people need some. Other workers ask for their answer with a query.
const maxWaitingUpdates = 4

// calls are the model calls in flight of a run, and those that ask whether they may start.
type calls struct {
	r       *runner
	ledger  runledger.Ledger
	asked   []*asked // in order, until their attempt ends
	changes int      // counts changes that may make room for a call
	waiting int      // updates that wait for their answer
}

// asked is the question of a call.
type asked struct {
	wire.Reserve
	begun  *runstate.Attempt
	cancel workflow.CancelFunc
	// shared identifies the call in shared budgets, or is empty.
	shared string
	known  bool // the answer is known
	answer runledger.Answer
	begins bool // it is in the list, or its answer is known
}

// changed makes calls that wait for room try again.
func (c *calls) changed() { c.changes++ }

// reserve handles the question of a worker. Its answer may be pending.
func (c *calls) reserve(ctx workflow.Context, q wire.Reserve) (runledger.Answer, error) {
	k := &asked{Reserve: q}
	c.r.post(func() { c.begin(k) })
	c.waiting++
	defer func() {
		c.waiting--
		c.r.wake()
	}()
	if err := workflow.Await(ctx, func() bool { return k.known || k.begins && c.waiting > maxWaitingUpdates }); err != nil {
		return runledger.Answer{}, err
	}
	if !k.known {
		return runledger.Answer{Pending: true}, nil
	}
	return k.answer, nil
}

// answer returns the answer to a question.
func (c *calls) answer(id string) runledger.Answer {
	i := slices.IndexFunc(c.asked, func(k *asked) bool { return k.ID == id })
	switch {
	case i < 0:
		return runledger.Answer{Over: true}
	case !c.asked[i].known:
		return runledger.Answer{Pending: true}
	}
	return c.asked[i].answer
}

// begin begins to answer a question.
func (c *calls) begin(k *asked) {
	k.begins = true
	if k.begun = c.r.activeAttempt(k.Key, k.Number); k.begun == nil {
		k.known, k.answer = true, runledger.Answer{Over: true}
		return
	}
	c.asked = append(c.asked, k)
	ctx, cancel := workflow.WithCancel(c.r.ctx)
	k.cancel = cancel
	workflow.Go(ctx, func(own workflow.Context) {
		answer := c.decide(own, k)
		if k.known {
			return // its attempt has ended
		}
		run := &c.r.m.Run
		answer.Limits, answer.Spent = c.r.m.Limits(), c.r.m.Spent(c.r.monotonic())
		if now := c.r.in.Budgets; now.Digest != k.Ask.Budgets {
			now = now.Of(run.PlanKey, run.Labels)
			answer.Budgets = &now
		}
		k.known, k.answer = true, answer
	})
}

// decide decides whether a call may start. It waits for calls in flight, and for kairosd if a shared budget covers the call.
func (c *calls) decide(ctx workflow.Context, k *asked) runledger.Answer {
	m := c.r.m
	for !k.known {
		seen := c.changes
		output, wait, refused := c.ledger.Reserve(k.begun, k.Ask.Substep, k.Ask.Need, m.Limits(), m.Spent(c.r.monotonic()))
		switch {
		case refused != nil:
			return runledger.Answer{Refused: refused}
		case wait:
			if workflow.Await(ctx, func() bool { return c.changes != seen || k.known }) != nil {
				return runledger.Answer{Over: true}
			}
			continue
		case !c.r.in.Budgets.Of(m.Run.PlanKey, m.Run.Labels).Cover(k.Ask.Agent, k.Ask.Provider):
			return runledger.Answer{Output: output}
		}
		return c.share(ctx, k, output)
	}
	return runledger.Answer{Over: true}
}

// share reserves the usage of a call from the shared budgets. output is the limit of the run, or 0.
func (c *calls) share(ctx workflow.Context, k *asked, output int64) runledger.Answer {
	run, need := &c.r.m.Run, k.Ask.Need
	k.shared = budget.CallID(run.ID, k.begun.Spec.ID, k.begun.Visit, k.begun.Item, k.Number, k.Ask.Substep, c.r.reports.fence)
	q := runledger.SharedAsk{Call: budget.Call{ID: k.shared, Run: run.ID, Plan: run.PlanKey, Agent: need.Agent, Provider: need.Provider,
		Labels: run.Labels}, Need: need.Need, Always: c.r.m.State.Walk.Finishing(), MayDegrade: k.Ask.MayDegrade}
	q.Need.Output = cmp.Or(output, need.Output)
	var a runledger.SharedAnswer
	for a.Wait = true; a.Wait; {
		a = runledger.SharedAnswer{}
		err := workflow.ExecuteActivity(c.r.sharedBudgets(ctx), wire.ReserveActivity, q).Get(ctx, &a)
		if err != nil || k.known { // the attempt has ended
			return runledger.Answer{Over: true}
		}
	}
	if a.Refused != nil || a.Degrade != nil {
		k.shared = ""
		c.ledger.Lose(k.begun, k.Ask.Substep, false)
		c.changed()
		return runledger.Answer{Refused: a.Refused, Degrade: a.Degrade}
	}
	if a.Bounded {
		output = a.Output
	}
	c.ledger.Share(k.begun, k.Ask.Substep, runledger.Share{Call: a.Call, Note: k.Ask.Note, Covered: len(a.Holds) > 0, Holds: a.Holds},
		cmp.Or(output, need.Output), need)
	c.changed() // it may have reserved less
	return runledger.Answer{Output: output}
}

// close ends the reservation of a call whose row is being written.
func (c *calls) close(begun *runstate.Attempt, unreported bool, ev *runstate.SubstepRecorded) {
	if ev.Row.Kind != domain.EntrySubstep {
		return
	}
	used := ev.Row.Usage
	charge, reserved, over := c.ledger.Close(begun, ev.Row.Substep, c.r.m.Limits(), unreported, &ev.Row)
	if over {
		workflow.GetLogger(c.r.ctx).Warn("a model call used more than was reserved", "run_id", c.r.m.Run.ID, "node", ev.Row.Node,
			"used", used.InputTokens+used.OutputTokens, "reserved", reserved)
	}
	if charge != nil {
		ev.Charges = append(ev.Charges, *charge)
	}
	c.changed()
}

// lose ends a call without a row.
func (c *calls) lose(begun *runstate.Attempt, l wire.Lost) {
	if charge, ok := c.ledger.Lose(begun, l.Substep, l.Spent); ok && charge != nil {
		c.r.handle(&runstate.CallOver{Charge: *charge})
		c.r.handle(runstate.Complete{})
	}
	c.changed()
}

// settle ends all reservations of an attempt that has ended, and its questions.
func (c *calls) settle(begun *runstate.Attempt, ev runstate.Event) {
	var unused []domain.BudgetCharge
	for _, k := range c.asked {
		if k.begun != begun || k.known {
			continue
		}
		k.known, k.answer = true, runledger.Answer{Over: true}
		k.cancel()
		c.ledger.Lose(begun, k.Ask.Substep, false)
		if k.shared != "" {
			unused = append(unused, domain.BudgetCharge{Call: k.shared, Unused: true}) // kairosd may have reserved by now
		}
	}
	c.asked = slices.DeleteFunc(c.asked, func(k *asked) bool { return k.begun == begun })
	used, provider, charges, ok := c.ledger.Settle(begun, c.r.m.Run.Limits)
	charges = append(charges, unused...)
	c.changed()
	if !ok && len(charges) == 0 {
		return
	}
	fill := func(end *runstate.AttemptEnding) { end.Unreported, end.Provider, end.Charges = used, provider, charges }
	switch ev := ev.(type) {
	case *runstate.AttemptDone:
		fill(&ev.AttemptEnding)
	case *runstate.AttemptAbandoned:
		fill(&ev.AttemptEnding)
	case *runstate.AttemptNotStarted:
		fill(&ev.AttemptEnding)
	case *runstate.AttemptLost:
		ev.Charges = charges
	}
}

// sharedBudgets returns the context of questions about shared budgets. They wait while kairosd is down.
func (r *runner) sharedBudgets(ctx workflow.Context) workflow.Context {
	ctx = r.control(ctx)
	if r.in.Control != "" {
		ctx = workflow.WithTaskQueue(ctx, wire.BudgetsOf(r.in.Control))
	}
	return ctx
}
