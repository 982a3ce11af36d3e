package engine

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/kairosd/kairosd/internal/budget"
	"github.com/kairosd/kairosd/internal/budget/runledger"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// budgets connects the shared budgets with the store and the runs. A reservation is durable before its call, and ends
// in the checkpoint of the row with the usage, so that a crash neither loses nor repeats usage. The calls that a
// crash interrupts count with what they reserved.
type budgets struct {
	e       *Engine
	ledger  *budget.Ledger
	loading sync.Mutex // so that an older list never replaces a newer one
}

func newBudgets(e *Engine) *budgets {
	return &budgets{e: e, ledger: budget.NewLedger(e.now, func(run string) { e.post(run, callsMsg{}) })}
}

// open settles interrupted calls, and loads the budgets. The calls of runs that a Remote executes continue.
func (b *budgets) open(ctx context.Context) error {
	if b.e.opts.Remote != nil {
		return cmp.Or(b.load(ctx), b.restore(ctx))
	}
	if err := b.e.store.LoseBudgetCalls(ctx); err != nil {
		return err
	}
	return b.load(ctx)
}

// load applies the stored budgets. Calls in flight count in new ones. A call whose row commits between the creation of a
// budget and this load is missed: it is neither in the recorded usage nor in flight.
func (b *budgets) load(ctx context.Context) error {
	b.loading.Lock()
	defer b.loading.Unlock()
	list, err := b.e.store.Budgets(ctx)
	if err != nil {
		return err
	}
	adopted := b.ledger.Set(list)
	if len(adopted) == 0 {
		return nil
	}
	err = b.e.store.HoldBudgets(ctx, adopted)
	if charges := b.ledger.Adopted(adopted); err == nil && len(charges) > 0 {
		err = b.e.store.ChargeBudgets(ctx, charges)
	}
	return err
}

// hold makes reservations durable before their call.
func (b *budgets) hold(ctx context.Context, holds []domain.BudgetHold) error {
	if len(holds) == 0 {
		return nil
	}
	err := b.e.store.HoldBudgets(context.WithoutCancel(ctx), holds)
	failpoint.Hit("budget.held")
	return cmp.Or(err, context.Cause(ctx))
}

// settle ends reservations that belong to no checkpoint.
func (b *budgets) settle(charges []domain.BudgetCharge) {
	charges = slices.DeleteFunc(charges, func(c domain.BudgetCharge) bool { return !b.ledger.Settle(c) })
	if len(charges) == 0 {
		return
	}
	b.e.background(func() {
		if err := b.e.store.ChargeBudgets(context.WithoutCancel(b.e.base), charges); err != nil {
			b.e.log.Warn("reservations in budgets could not be ended; the next start counts them", "err", err)
		}
	})
}

// wokenAtOnce limits the runs that a raise of a budget wakes.
const wokenAtOnce = 10_000

// wakeAll wakes the runs whose budgets have room.
func (b *budgets) wakeAll(ctx context.Context) {
	list, err := b.e.store.Budgets(ctx)
	if err != nil {
		b.e.log.Error("budgets cannot be read", "err", err)
		return
	}
	for _, x := range list {
		if x.Waiting > 0 {
			b.wake(ctx, x.ID)
		}
	}
}

// wake wakes the runs that wait for a budget and fit, oldest first.
func (b *budgets) wake(ctx context.Context, id string) {
	if b.e.opts.OwnRunsOnly {
		return // the next start of a daemon wakes them, or their resume
	}
	waiters, err := b.e.store.BudgetWaiters(ctx, id, wokenAtOnce)
	if err != nil {
		b.e.log.Error("the runs that wait for a budget cannot be read", "err", err)
		return
	}
	sum, fitting := 0.0, []string(nil)
	for _, w := range waiters {
		if sum += w.Least; !b.ledger.HasRoom(id, w.Start, sum) {
			break
		}
		fitting = append(fitting, w.Run)
	}
	b.freed(id, fitting)
}

// freed wakes runs that wait for a budget, in order.
func (b *budgets) freed(id string, runs []string) {
	if b.e.opts.Remote != nil {
		b.freedElsewhere(id, runs)
		return
	}
	for _, run := range runs {
		b.e.post(run, roomMsg{})
	}
}

// BudgetChanged applies a new, changed, or deleted budget, and wakes the runs that wait for it and fit. waiting are runs
// that waited for it before its deletion.
func (t Timed) BudgetChanged(ctx context.Context, id string, waiting []domain.BudgetWait) {
	e, b := t.e, t.e.handlers.budgets
	ctx = context.WithoutCancel(ctx)
	if err := b.load(ctx); err != nil {
		e.log.Error("budgets cannot be read", "err", err)
		return
	}
	b.wake(ctx, id)
	if e.opts.OwnRunsOnly {
		return
	}
	var runs []string
	for _, w := range waiting {
		runs = append(runs, w.Run)
	}
	b.freed(id, runs)
}

// ReservedFromBudget returns what calls in flight have reserved from a budget.
func (t Timed) ReservedFromBudget(id string) float64 { return t.e.handlers.budgets.ledger.Reserved(id) }

type (
	// callsMsg reports that calls that wait for reservations of other runs may fit.
	callsMsg struct{}
	// roomMsg reports that the shared budget that the run waits for may have room.
	roomMsg struct{}
)

func (callsMsg) apply(a *runner) { a.startWaitingCalls() }

func (roomMsg) apply(a *runner) {
	b := a.m.State.Budget
	if b == nil || b.Shared == nil || !a.e.handlers.budgets.ledger.HasRoom(b.Shared.ID, b.Shared.Start, b.Shared.Least) {
		return
	}
	a.handle(&runstate.BudgetFreed{Budget: b.Shared.ID})
}

// reserveShared reserves the usage of a call from the shared budgets. output is the limit of the run, or 0. If a budget has
// reached its degrade line, the call goes to the cheaper model.
func (a *runner) reserveShared(m reserveMsg, output int64) (g granted, wait bool, refused *runledger.Refusal) {
	ledger, need, note := a.e.handlers.budgets.ledger, m.need, ""
	if by, to := ledger.Degraded(a.sharedCall(need)); to != "" && need.Cheaper != nil {
		if cheaper, ok := need.Cheaper(to); ok {
			note = runledger.Degrade{Budget: by, To: to}.Note(need.Provider)
			need, g.degrade = cheaper, cheaper.Degrade
		}
	}
	need.Output = cmp.Or(output, need.Output)
	of := need.of()
	grant, wait, full := ledger.Reserve(a.sharedCall(need), of.Need, a.m.State.Walk.Finishing())
	switch {
	case wait:
		return granted{}, true, nil
	case full != nil:
		return granted{}, false, runledger.RefusedBy(full)
	}
	g.output, g.holds = output, grant.Holds
	if grant.Bounded {
		g.output = grant.Output
	}
	a.calls.Share(&m.attempt.Attempt, m.n, runledger.Share{Call: grant.Call, Note: note, Covered: len(grant.Holds) > 0},
		cmp.Or(g.output, need.Output), of)
	return g, false, nil
}

// sharedCall describes a call to the shared budgets.
func (a *runner) sharedCall(need ExpectedUsage) budget.Call {
	run := &a.m.Run
	return budget.Call{Run: a.id, Plan: run.PlanKey, Agent: need.Agent, Provider: need.Provider, Labels: run.Labels}
}

// settleCalls ends all reservations of an ended attempt.
func (a *runner) settleCalls(t *attempt) (used domain.Usage, provider string, charges []domain.BudgetCharge) {
	used, provider, charges, _ = a.calls.Settle(&t.Attempt, a.m.Run.Limits)
	ledger := a.e.handlers.budgets.ledger
	return used, provider, slices.DeleteFunc(charges, func(c domain.BudgetCharge) bool { return !ledger.Settle(c) })
}
