package engine

import (
	"fmt"
	"math"

	"github.com/kairosd/kairosd/internal/budget"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
)

// reservation is the usage that a call in flight has reserved.
type reservation struct {
	tokens int64
	usage  domain.Usage
	// provider makes the call.
	provider string
	// call identifies the call in shared budgets, and shared reports that one covers it. note explains the row if a
	// budget degraded the call.
	call, note string
	shared     bool
	// lost is set if the call ended without reporting its usage. Its reservation counts in full,
	// and becomes usage in the last row of its attempt.
	lost bool
}

// ledger holds the reservations of the calls in flight of one run. Only the goroutine of the runner
// uses it.
type ledger struct {
	reserved map[*attempt]map[int]reservation // by sub-step
	waiting  []reserveMsg                     // calls that wait for available usage, in order
}

// reserve reserves usage for the call of sub-step n. output is the maximum number of output tokens,
// or 0 for no limit. wait is true if the call would fit when the calls in flight use less than they
// have reserved. The error is [ErrBudget] if it does not fit.
func (c *ledger) reserve(t *attempt, n int, need ExpectedUsage, l domain.Limits, s runstate.Spent) (output int64, wait bool, err error) {
	refuse := func(code, format string, args ...any) (int64, bool, error) {
		return 0, false, &budgetError{message: domain.Messagef(format, args...), code: code}
	}
	if why := runstate.Exceeded(domain.Limits{MaxDuration: l.MaxDuration, MaxTokens: l.MaxTokens, MaxCost: l.MaxCost}, s); !why.IsZero() {
		return refuse("", "%s", why)
	}
	if !need.model() {
		return 0, false, nil
	}
	live, lost := c.sums()
	output = need.Output
	if l.MaxTokens > 0 {
		free := l.MaxTokens - s.Tokens() - lost.tokens
		if need.Input >= free {
			return refuse("", "max_tokens %d leaves %d tokens, and the input of the next model call alone has about %d",
				l.MaxTokens, max(free, 0), need.Input)
		}
		output = min(output, free-need.Input)
	}
	if l.MaxCost > 0 {
		if need.Unpriced != "" {
			return refuse(
				domain.CodePrice,
				"max_cost %g cannot be applied: no price is known for the next model call; set %s, then resume the run",
				l.MaxCost,
				need.Unpriced,
			)
		}
		free := l.MaxCost - s.Usage.Cost - lost.usage.Cost
		if least := need.cost(1); least > free {
			return refuse("", "max_cost %g leaves %g, and the next model call costs about %g", l.MaxCost, max(free, 0), least)
		}
		if need.OutputPrice > 0 {
			if most := math.Floor((free - need.cost(0)) / need.OutputPrice); most < float64(output) {
				output = int64(most)
			}
		}
	}
	r := reservation{
		tokens: need.Input + output,
		usage:  domain.Usage{InputTokens: need.Input, OutputTokens: output, Cost: need.cost(output)},

		provider: need.Provider,
	}
	if l.MaxTokens > 0 && s.Tokens()+lost.tokens+live.tokens+r.tokens > l.MaxTokens ||
		l.MaxCost > 0 && s.Usage.Cost+lost.usage.Cost+live.usage.Cost+r.usage.Cost > l.MaxCost && live.usage.Cost > 0 {
		return 0, true, nil
	}
	if c.reserved == nil {
		c.reserved = map[*attempt]map[int]reservation{}
	}
	if c.reserved[t] == nil {
		c.reserved[t] = map[int]reservation{}
	}
	c.reserved[t][n] = r
	if l.MaxTokens == 0 && l.MaxCost == 0 {
		output = 0
	}
	return output, false, nil
}

// sums returns the reservations of calls in flight and of lost calls.
func (c *ledger) sums() (live, lost reservation) {
	for _, calls := range c.reserved {
		for _, r := range calls {
			sum := &live
			if r.lost {
				sum = &lost
			}
			sum.tokens += r.tokens
			sum.usage = sum.usage.Add(r.usage)
		}
	}
	return live, lost
}

// close ends the reservation of a call whose row is being written, and sets the usage of the row:
// the reported one, or the reservation if none was reported. over is true if the call used more
// tokens than reserved.
func (c *ledger) close(t *attempt, n int, l domain.Limits, unreported bool, row *domain.Entry) (r reservation, over bool) {
	r, ok := c.reserved[t][n]
	if !ok {
		return r, false
	}
	delete(c.reserved[t], n)
	if l.MaxTokens == 0 && l.MaxCost == 0 && !r.shared {
		return r, false
	}
	switch used := row.Usage.InputTokens + row.Usage.OutputTokens; {
	case unreported:
		row.Usage = r.usage
		row.Reason = "no usage was reported; the call counts with its reservation"
	case used > r.tokens:
		row.Reason = fmt.Sprintf("the call used %d tokens; %d were reserved", used, r.tokens)
		return r, true
	}
	return r, false
}

// share records what a call has reserved from shared budgets, which may allow fewer output tokens.
func (c *ledger) share(t *attempt, n int, g budget.Grant, note string, output int64, need ExpectedUsage) {
	r := c.reserved[t][n]
	r.call, r.shared, r.note, r.provider, r.tokens = g.Call, len(g.Holds) > 0, note, need.Provider, need.Input+output
	r.usage = domain.Usage{InputTokens: need.Input, OutputTokens: output, Cost: need.cost(output)}
	c.reserved[t][n] = r //seed:reserve
}

// lose ends a call without a row. If it may have used something, its reservation counts until its
// attempt ends. Otherwise, its reservation ends. ok is false if there was no reservation.
func (c *ledger) lose(t *attempt, n int, spent bool) (r reservation, ok bool) {
	if r, ok = c.reserved[t][n]; !ok {
		return r, false
	}
	if spent {
		r.lost = true
		c.reserved[t][n] = r
	} else {
		delete(c.reserved[t], n)
	}
	return r, true
}

// settle ends all reservations of an ended attempt. If there is a limit, the reservations of lost
// calls count as used. charges end what the calls have reserved from shared budgets.
func (c *ledger) settle(t *attempt, l domain.Limits) (u domain.Usage, provider string, charges []domain.BudgetCharge) {
	for _, r := range c.reserved[t] {
		if l.MaxTokens > 0 || l.MaxCost > 0 || r.shared {
			u, provider = u.Add(r.usage), r.provider
		}
		if r.call != "" {
			charges = append(charges, domain.BudgetCharge{Call: r.call, Usage: r.usage, Estimated: true})
		}
	}
	c.drop(t)
	return u, provider, charges
}

// shared returns charges for all calls of the run that have reserved from shared budgets.
func (c *ledger) shared() (charges []domain.BudgetCharge) {
	for _, calls := range c.reserved {
		for _, r := range calls {
			if r.call != "" {
				charges = append(charges, domain.BudgetCharge{Call: r.call, Usage: r.usage, Estimated: true})
			}
		}
	}
	return charges
}

// drop removes the reservations of an attempt.
func (c *ledger) drop(t *attempt) { delete(c.reserved, t) }
