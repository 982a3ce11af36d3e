package engine

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/budget"
	"github.com/kairosd/kairosd/internal/budget/runledger"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// With a Remote, a run asks before a call that a shared budget can cover. The reservation is durable before the answer, and
// ends with the report that contains the charge. It survives a restart. If a restored database lacks it, the charge has it.

// askWait is the time for which a question waits for calls in flight. Then the run repeats it.
const askWait = 40 * time.Second

// Budgets returns the scopes of all budgets.
func (s Records) Budgets() budget.Scopes { return s.e.handlers.budgets.ledger.Scopes() }

// Reserve reserves the usage of a call from the shared budgets. A repeated question has the same answer. It waits for calls
// in flight for a while.
func (s Records) Reserve(ctx context.Context, q runledger.SharedAsk) (a runledger.SharedAnswer, err error) {
	b := s.e.handlers.budgets
	limit := time.NewTimer(askWait)
	defer limit.Stop()
	for {
		woken := b.ledger.Woken(q.Run)
		if a, err = s.reserve(ctx, q); err != nil || !a.Wait {
			return a, err
		}
		select {
		case <-woken:
		case <-limit.C:
			return a, nil
		case <-s.e.handlers.stopping:
			return a, nil
		case <-ctx.Done():
			return a, context.Cause(ctx)
		}
	}
}

// reserve reserves the usage of a call, or returns that it must wait.
func (s Records) reserve(ctx context.Context, q runledger.SharedAsk) (a runledger.SharedAnswer, err error) {
	defer s.e.starts.remote.recording.Lock(q.Run)()
	b := s.e.handlers.budgets
	run, err := s.e.store.Run(ctx, q.Run)
	if err == nil && run.Status.Final() || b.ledger.Withdrawn(q.ID) {
		return a, domain.Errorf(domain.CodeConflict, "the run has ended")
	} else if err != nil && domain.CodeOf(err) != domain.CodeNotFound { // a child run may not be stored yet
		return a, err
	}
	if a = q.Answer(b.ledger); len(a.Holds) > 0 {
		if err := s.e.store.HoldBudgets(context.WithoutCancel(ctx), a.Holds); err != nil {
			b.ledger.Settle(domain.BudgetCharge{Call: q.ID, Unused: true})
			return runledger.SharedAnswer{}, err
		}
		failpoint.Hit("budget.held")
	}
	return a, nil
}

// restore takes over the reservations of runs that a Remote executes, and settles those of runs that have ended. A run that the
// store does not have may be a child run that has not reported yet.
func (b *budgets) restore(ctx context.Context) error {
	holds, err := b.e.store.BudgetHolds(ctx)
	if err != nil || len(holds) == 0 {
		return err
	}
	lost := b.ledger.Restore(holds, func(run string) bool {
		r, err := b.e.store.Run(ctx, run)
		return err != nil || !r.Status.Final()
	})
	for _, c := range lost {
		b.ledger.Settle(c)
	}
	if len(lost) == 0 {
		return nil
	}
	return b.e.store.ChargeBudgets(ctx, lost)
}

// charged ends reservations whose charges are durable.
func (b *budgets) charged(list []domain.BudgetCharge) {
	for _, c := range list {
		if c.Unused {
			b.ledger.Withdraw(c.Call)
		}
		b.ledger.Settle(c)
	}
}

// reported wakes runs that began to wait for a budget that has room again by now.
func (b *budgets) reported(list []domain.Checkpoint) {
	for _, c := range list {
		if w := c.BudgetWait; w != nil && w.Budget != "" && b.ledger.HasRoom(w.Budget, w.Start, w.Least) {
			b.freedElsewhere(w.Budget, []string{c.Run})
		}
	}
}

// freedAtOnce limits the runs that are woken at the same time.
const freedAtOnce = 16

// freedElsewhere wakes runs that a Remote executes, in order. A run that does not respond does not delay the others.
func (b *budgets) freedElsewhere(id string, runs []string) {
	if len(runs) == 0 {
		return
	}
	b.e.background(func() {
		slots := make(chan struct{}, freedAtOnce)
		for _, run := range runs {
			select {
			case slots <- struct{}{}:
			case <-b.e.handlers.stopping:
				return // the next start wakes them
			}
			b.e.background(func() {
				ok := b.free(id, run)
				<-slots
				for pause := minForwardPause; !ok; pause = min(2*pause, maxForwardPause) {
					select {
					case <-time.After(pause):
						ok = b.free(id, run)
					case <-b.e.handlers.stopping:
						return
					}
				}
			})
		}
	})
}

// free wakes a run that waits for a budget. It returns false if it must be tried again.
func (b *budgets) free(id, run string) bool {
	err := b.e.starts.remote.BudgetFreed(b.e.base, run, &runstate.BudgetFreed{Budget: id})
	if domain.CodeOf(err) != domain.CodeUnavailable {
		return true // otherwise the run has ended
	}
	now, failed := b.e.store.Run(b.e.base, run)
	return failed == nil && (now.Status != domain.RunWaiting || now.WaitReason != domain.WaitBudget)
}
