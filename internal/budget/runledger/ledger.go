// Package runledger keeps one run within its limits inside its steps: it holds what the model calls in flight have reserved.
// Both drivers of runs use it, the runner of the SQLite engine and the workflow on Temporal, so it is deterministic.
package runledger

import (
	"fmt"
	"math"
	"slices"

	"github.com/kairosd/kairosd/internal/budget"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
)

// Need is the maximum usage of a call, and its agent and provider. A tool call uses no tokens.
type Need struct {
	budget.Need
	Agent, Provider string
}

// Model reports whether the need is that of a model call.
func (n Need) Model() bool { return n.Output > 0 }

func (n Need) cost(output int64) float64 {
	return float64(n.Input)*n.InputPrice + float64(output)*n.OutputPrice
}

// reservation returns the reservation of a call whose answer has at most a number of tokens.
func (n Need) reservation(output int64) Reservation {
	return Reservation{Tokens: n.Input + output, Provider: n.Provider,
		Usage: domain.Usage{InputTokens: n.Input, OutputTokens: output, Cost: n.cost(output)}}
}

// Refusal is why a call is not permitted.
type Refusal struct {
	Message domain.Message
	// Code is the event that ends the wait of the run, if it is not a higher limit.
	Code string
	// Budget is the shared budget without room, or nil.
	Budget *runstate.BudgetRef
}

// RefusedBy returns the refusal of a shared budget.
func RefusedBy(r *budget.Refusal) *Refusal {
	if r.Unpriced {
		return &Refusal{Message: r.Message, Code: domain.CodePrice}
	}
	return &Refusal{Message: r.Message, Budget: &runstate.BudgetRef{ID: r.Budget, Key: r.Key, Start: r.Start, Until: r.End, Least: r.Least}}
}

// Reservation is the usage that a call in flight has reserved.
type Reservation struct {
	Tokens int64
	Usage  domain.Usage
	// Provider makes the call.
	Provider string
	Share
	// lost is set if the call ended without reporting its usage. Its reservation counts in full,
	// and becomes usage in the last row of its attempt.
	lost bool
}

// Share is what a call has reserved from shared budgets.
type Share struct {
	// Call identifies the call in shared budgets, and Covered reports that one covers it. Note explains the row if a
	// budget degraded the call.
	Call, Note string
	Covered    bool
	// Holds are the reservations. They are set if the ledger of the budgets is in another program, which may lose them.
	Holds []domain.BudgetHold
}

// charge returns the charge that ends what the call has reserved from shared budgets.
func (r *Reservation) charge() domain.BudgetCharge {
	return domain.BudgetCharge{Call: r.Call, Usage: r.Usage, Estimated: true, Holds: r.Holds}
}

// held is the reservation of a sub-step of an attempt.
type held struct {
	attempt *runstate.Attempt
	substep int
	Reservation
}

// Ledger holds the reservations of the calls in flight of one run. It is not safe for concurrent use.
type Ledger struct {
	held []held // in the order of the reservations, so that sums are deterministic
}

func (l *Ledger) find(t *runstate.Attempt, n int) int {
	return slices.IndexFunc(l.held, func(h held) bool { return h.attempt == t && h.substep == n })
}

func (l *Ledger) remove(i int) { l.held = slices.Delete(l.held, i, i+1) }

// Reserve reserves usage for the call of sub-step n. output is the maximum number of output tokens,
// or 0 for no limit. wait is true if the call would fit when the calls in flight use less than they
// have reserved.
func (l *Ledger) Reserve(t *runstate.Attempt, n int, need Need, limits domain.Limits, s runstate.Spent) (output int64, wait bool,
	refused *Refusal) {
	refuse := func(code, format string, args ...any) (int64, bool, *Refusal) {
		return 0, false, &Refusal{Message: domain.Messagef(format, args...), Code: code}
	}
	if refused := Exceeded(limits, s); refused != nil {
		return 0, false, refused
	}
	if !need.Model() {
		return 0, false, nil
	}
	live, lost := l.sums()
	output = need.Output
	if limits.MaxTokens > 0 {
		free := limits.MaxTokens - s.Tokens() - lost.Tokens
		if need.Input >= free {
			return refuse("", "max_tokens %d leaves %d tokens, and the input of the next model call alone has about %d",
				limits.MaxTokens, max(free, 0), need.Input)
		}
		output = min(output, free-need.Input)
	}
	if limits.MaxCost > 0 {
		if need.Unpriced != "" {
			return refuse(
				domain.CodePrice,
				"max_cost %g cannot be applied: no price is known for the next model call; set %s, then resume the run",
				limits.MaxCost,
				need.Unpriced,
			)
		}
		free := limits.MaxCost - s.Usage.Cost - lost.Usage.Cost
		if least := need.cost(1); least > free {
			return refuse("", "max_cost %g leaves %g, and the next model call costs about %g", limits.MaxCost, max(free, 0), least)
		}
		if need.OutputPrice > 0 {
			if most := math.Floor((free - need.cost(0)) / need.OutputPrice); most < float64(output) {
				output = int64(most)
			}
		}
	}
	r := need.reservation(output)
	if limits.MaxTokens > 0 && s.Tokens()+lost.Tokens+live.Tokens+r.Tokens > limits.MaxTokens ||
		limits.MaxCost > 0 && s.Usage.Cost+lost.Usage.Cost+live.Usage.Cost+r.Usage.Cost > limits.MaxCost && live.Usage.Cost > 0 {
		return 0, true, nil
	}
	if i := l.find(t, n); i >= 0 {
		l.remove(i)
	}
	l.held = append(l.held, held{t, n, r})
	if limits.MaxTokens == 0 && limits.MaxCost == 0 {
		output = 0
	}
	return output, false, nil
}

// Exceeded returns a refusal if a limit prevents any further call.
func Exceeded(l domain.Limits, s runstate.Spent) *Refusal {
	why := runstate.Exceeded(domain.Limits{MaxDuration: l.MaxDuration, MaxTokens: l.MaxTokens, MaxCost: l.MaxCost}, s)
	if why.IsZero() {
		return nil
	}
	return &Refusal{Message: why}
}

// sums returns the reservations of calls in flight and of lost calls.
func (l *Ledger) sums() (live, lost Reservation) {
	for i := range l.held {
		sum := &live
		if l.held[i].lost {
			sum = &lost
		}
		sum.Tokens += l.held[i].Tokens
		sum.Usage = sum.Usage.Add(l.held[i].Usage)
	}
	return live, lost
}

// Close ends the reservation of a call whose row is being written. It completes the row: with its provider, and with the
// reservation as its usage if none was reported. over is true if the call used more tokens than reserved. charge ends what
// the call has reserved from shared budgets, and is nil if there is nothing to end.
func (l *Ledger) Close(t *runstate.Attempt, n int, limits domain.Limits, unreported bool, row *domain.Entry) (charge *domain.BudgetCharge,
	reserved int64, over bool) {
	i := l.find(t, n)
	if i < 0 {
		return nil, 0, false
	}
	r := l.held[i].Reservation
	l.remove(i)
	if row.Provider = r.Provider; limits.MaxTokens > 0 || limits.MaxCost > 0 || r.Covered {
		switch used := row.Usage.InputTokens + row.Usage.OutputTokens; {
		case unreported:
			row.Usage = r.Usage
			row.Reason = "no usage was reported; the call counts with its reservation"
		case used > r.Tokens:
			row.Reason = fmt.Sprintf("the call used %d tokens; %d were reserved", used, r.Tokens)
			over = true
		}
	}
	if row.Reason == "" {
		row.Reason = r.Note
	}
	if r.Call != "" {
		charge = &domain.BudgetCharge{Call: r.Call, Usage: row.Usage, Estimated: unreported, Holds: r.Holds}
	}
	return charge, r.Tokens, over
}

// Share records what a call has reserved from shared budgets, which may allow fewer output tokens.
func (l *Ledger) Share(t *runstate.Attempt, n int, s Share, output int64, need Need) {
	if i := l.find(t, n); i >= 0 {
		r := need.reservation(output)
		r.Share = s
		l.held[i].Reservation = r //seed:reserve
	}
}

// Lose ends a call without a row. If it may have used something, its reservation counts until its
// attempt ends. Otherwise, its reservation ends, and charge ends what it has reserved from shared budgets, or is nil.
// ok is false if there was no reservation.
func (l *Ledger) Lose(t *runstate.Attempt, n int, spent bool) (charge *domain.BudgetCharge, ok bool) {
	i := l.find(t, n)
	if i < 0 {
		return nil, false
	}
	if spent {
		l.held[i].lost = true
		return nil, true
	}
	if r := &l.held[i]; r.Call != "" {
		charge = &domain.BudgetCharge{Call: r.Call, Unused: true}
	}
	l.remove(i)
	return charge, true
}

// Settle ends all reservations of an ended attempt. If there is a limit, the reservations of lost
// calls count as used. charges end what the calls have reserved from shared budgets. ok is false if there was none.
func (l *Ledger) Settle(t *runstate.Attempt, limits domain.Limits) (u domain.Usage, provider string, charges []domain.BudgetCharge,
	ok bool) {
	for i := range l.held {
		r := &l.held[i]
		if r.attempt != t {
			continue
		}
		if ok = true; limits.MaxTokens > 0 || limits.MaxCost > 0 || r.Covered {
			u, provider = u.Add(r.Usage), r.Provider
		}
		if r.Call != "" {
			charges = append(charges, r.charge())
		}
	}
	l.held = slices.DeleteFunc(l.held, func(h held) bool { return h.attempt == t })
	return u, provider, charges, ok
}

// Clear removes all reservations. It returns charges for the calls that have reserved from shared budgets.
func (l *Ledger) Clear() (charges []domain.BudgetCharge) {
	for i := range l.held {
		if r := &l.held[i]; r.Call != "" {
			charges = append(charges, r.charge())
		}
	}
	l.held = nil
	return charges
}
