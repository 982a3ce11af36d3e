package budget

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
)

// The calls of a run that is executed in another program have an ID that contains the run. So a reservation may be repeated,
// and what a lost run has reserved can be found.

// CallID returns the ID of a call. position is that of the run, so that no two calls of a run have the same ID.
func CallID(run, node string, visit, item, attempt, substep int, position int64) string {
	return fmt.Sprintf("%s/%s#%d[%d]/%d.%d@%d", run, node, visit, item, attempt, substep, position)
}

// runOf returns the run of a call with such an ID, or "".
func runOf(id string) string {
	run, _, found := strings.Cut(id, "/")
	if !found {
		return ""
	}
	return run
}

// Scopes returns the scopes of all budgets.
func (l *Ledger) Scopes() Scopes {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.scopes
}

// again returns the grant of a call that has reserved before.
func (l *Ledger) again(known *call, c Call, n Need) Grant {
	if known.restored {
		known.of, known.need, known.output, known.restored = c, n, n.Output, false
		for _, h := range known.holds {
			if a := l.accounts[h.Budget]; a != nil && a.b.Hard > 0 {
				known.output, known.bounded = min(known.output, n.fitting(a.b.Unit, h.Amount)), true
			}
		}
	}
	return Grant{Call: c.ID, Holds: slices.Clone(known.holds), Output: known.output, Bounded: known.bounded}
}

// Woken returns a channel that is closed when the ledger wakes a run.
func (l *Ledger) Woken(run string) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.woken[run] == nil {
		l.woken[run] = make(chan struct{})
	}
	return l.woken[run]
}

// Restore adds the stored holds of calls in flight. It returns charges for calls that nothing continues: those without a run
// that is active.
func (l *Ledger) Restore(holds []domain.BudgetHold, active func(run string) bool) (lost []domain.BudgetCharge) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range holds {
		c := l.calls[h.Call]
		if c == nil {
			c = &call{of: Call{ID: h.Call, Run: runOf(h.Call)}, restored: true}
			l.calls[h.Call] = c
			if c.of.Run == "" || !active(c.of.Run) {
				lost = append(lost, domain.BudgetCharge{Call: h.Call, Estimated: true})
			}
		}
		c.holds = append(c.holds, h)
		if a := l.accounts[h.Budget]; a != nil {
			if a.roll(l.now()); a.b.Window.Start.Equal(h.Start) {
				a.live += h.Amount
			}
		}
	}
	return lost
}

// Withdraw ends a call with an ID that was not made. Its reservation may still arrive, and is refused then.
func (l *Ledger) Withdraw(id string) {
	l.mu.Lock()
	if l.calls[id] == nil && runOf(id) != "" {
		l.over[id] = true
	}
	l.mu.Unlock()
}

// Withdrawn reports whether a call was withdrawn before it had reserved anything.
func (l *Ledger) Withdrawn(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over[id]
}

// EndRun returns charges for the calls of a run that has ended.
func (l *Ledger) EndRun(run string) (lost []domain.BudgetCharge) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.calls {
		if runOf(id) == run {
			lost = append(lost, domain.BudgetCharge{Call: id, Estimated: true})
		}
	}
	delete(l.woken, run)
	for id := range l.over {
		if runOf(id) == run {
			delete(l.over, id)
		}
	}
	return lost
}
