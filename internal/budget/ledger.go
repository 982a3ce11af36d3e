package budget

import (
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Need is the maximum usage of a model call.
type Need struct {
	Input, Output           int64   // tokens
	InputPrice, OutputPrice float64 // per token
	// Unpriced is the setting to add if the model has no price, or empty.
	Unpriced string
}

func (n Need) amount(unit string, output int64) float64 {
	if unit == domain.UnitTokens {
		return float64(n.Input + output)
	}
	return float64(n.Input)*n.InputPrice + float64(output)*n.OutputPrice
}

// Grant is the permission for a call.
type Grant struct {
	// Call identifies the call. Holds are empty if no budget covers it.
	Call  string
	Holds []domain.BudgetHold
	// Output is the maximum number of output tokens. Bounded reports that the call may not use more.
	Output  int64
	Bounded bool
}

// Refusal is why a call is not permitted.
type Refusal struct {
	Message domain.Message
	// Unpriced reports that the model has no price.
	Unpriced bool
	// Budget, Key, and the window name the budget that has no room. Least is the amount that the call needs.
	Budget, Key string
	Start, End  time.Time
	Least       float64
}

// Ledger holds the usage of all budgets, and what calls in flight have reserved. It is safe for concurrent use.
type Ledger struct {
	now  func() time.Time
	wake func(run string) // called without a lock

	mu       sync.Mutex
	accounts map[string]*account // by ID
	order    []*account          // by key
	calls    map[string]*call
	waiting  map[string]bool // runs with calls that wait for reservations to end
	// early holds the charges of calls that ended while their holds in new budgets were not durable.
	early map[string]domain.BudgetCharge
	// over holds the calls with an ID that ended before they had reserved anything, until their run ends.
	over   map[string]bool
	scopes Scopes
	woken  map[string]chan struct{} // by run; see Woken
}

// account is a budget in its current window.
type account struct {
	b     domain.Budget
	scope Scope
	live  float64 // reserved in the current window
}

// call is a call in flight.
type call struct {
	of     Call
	need   Need
	output int64 // maximum number of output tokens
	holds  []domain.BudgetHold
	// bounded is that of its grant.
	bounded bool
	// adopting is set while the holds of new budgets are not durable.
	adopting bool
	// restored is set if only the holds are known.
	restored bool
}

// NewLedger returns an empty ledger. wake is called for each run whose calls may fit now.
func NewLedger(now func() time.Time, wake func(run string)) *Ledger {
	return &Ledger{now: now, wake: wake, accounts: map[string]*account{}, calls: map[string]*call{}, waiting: map[string]bool{},
		early: map[string]domain.BudgetCharge{}, over: map[string]bool{}, scopes: scopesOf(nil),
		woken: map[string]chan struct{}{}}
}

// Set replaces the settings of the budgets. A budget that is known keeps its usage, except for a raise. A new budget also
// counts the calls in flight: adopted are their reservations. The caller stores them, and then calls [Ledger.Adopted].
func (l *Ledger) Set(list []domain.Budget) (adopted []domain.BudgetHold) {
	l.mu.Lock()
	known := l.accounts
	l.accounts, l.order, l.scopes = map[string]*account{}, nil, scopesOf(list)
	for _, b := range list {
		scope, err := ParseScope(b.Scope)
		if err != nil {
			continue // it was checked when it was stored
		}
		a := &account{b: b, scope: scope}
		if before := known[b.ID]; before != nil {
			a.live = before.live
			extra, at := b.Window.Extra, b.Window.Start
			if a.b.Window = before.b.Window; a.b.Window.Start.Equal(at) {
				a.b.Window.Extra = extra
			} else if !at.IsZero() && at.After(a.b.Window.Start) { // a raise of a window without usage
				a.live, a.b.Window = 0, domain.BudgetWindow{Start: at, End: b.Window.End, Extra: extra}
			}
		} else {
			adopted = append(adopted, l.adopt(a)...)
		}
		l.accounts[b.ID] = a
		l.order = append(l.order, a)
	}
	woken := l.wokenLocked()
	l.mu.Unlock()
	l.wakeAll(woken)
	return adopted
}

// adopt reserves from a new budget what the calls in flight in its scope may use.
func (l *Ledger) adopt(a *account) (holds []domain.BudgetHold) {
	for id, c := range l.calls {
		known := slices.ContainsFunc(c.holds, func(h domain.BudgetHold) bool { return h.Budget == a.b.ID })
		if known || c.restored || !a.scope.Covers(c.of) {
			continue
		}
		a.roll(l.now())
		h := a.hold(id, c.need.amount(a.b.Unit, c.output))
		c.holds, c.adopting = append(c.holds, h), true
		holds = append(holds, h)
	}
	return holds
}

// hold reserves an amount for a call in the current window.
func (a *account) hold(call string, amount float64) domain.BudgetHold {
	a.live += amount
	return domain.BudgetHold{Call: call, Budget: a.b.ID, Start: a.b.Window.Start, End: a.b.Window.End, Amount: amount}
}

// Adopted reports that the holds of [Ledger.Set] are durable. It returns charges for the calls that have ended since: their
// rows were written before the holds.
func (l *Ledger) Adopted(holds []domain.BudgetHold) (charges []domain.BudgetCharge) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range holds {
		if c := l.calls[h.Call]; c != nil {
			c.adopting = false
		}
		if charge, ok := l.early[h.Call]; ok {
			charges = append(charges, charge)
			delete(l.early, h.Call)
		}
	}
	return charges
}

func (l *Ledger) wokenLocked() []string {
	woken := make([]string, 0, len(l.waiting))
	for run := range l.waiting {
		woken = append(woken, run)
	}
	clear(l.waiting)
	for _, run := range woken {
		if c := l.woken[run]; c != nil {
			close(c)
			delete(l.woken, run)
		}
	}
	return woken
}

func (l *Ledger) wakeAll(runs []string) {
	for _, run := range runs {
		l.wake(run)
	}
}

// roll begins a new window if the current one has ended.
func (a *account) roll(now time.Time) {
	w := Current(a.b, now)
	if !w.Start.Equal(a.b.Window.Start) {
		a.live = 0 // calls of the window before count there
	}
	a.b.Window = w
}

func (a *account) limit() float64 { return a.b.Hard + a.b.Window.Extra }

// epsilon absorbs rounding of sums of costs.
const epsilon = 1e-9

// Reserve reserves the usage of a call from all budgets that cover it, or from none. wait is true if the call would
// fit when calls in flight use less than they have reserved; the ledger then wakes its run. If always is set, the call is
// counted, and no line prevents it. A call with an ID that has reserved before gets the same grant.
func (l *Ledger) Reserve(c Call, n Need, always bool) (g Grant, wait bool, refusal *Refusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.calls[c.ID]; known != nil {
		return l.again(known, c, n), false, nil
	}
	now := l.now()
	g.Output = n.Output
	var covering []*account
	for _, a := range l.order {
		if !a.scope.Covers(c) {
			continue
		}
		covering = append(covering, a)
		a.roll(now)
		if a.b.Unit == domain.UnitCost && n.Unpriced != "" && !always {
			return g, false, unpriced(a, n)
		}
		if a.b.Hard <= 0 || always {
			continue
		}
		least := n.amount(a.b.Unit, 1)
		free := a.limit() - a.b.Window.Used
		if least > free+epsilon || free <= 0 {
			return g, false, a.refuse(least)
		}
		g.Output, g.Bounded = min(g.Output, n.fitting(a.b.Unit, free)), true
	}
	for _, a := range covering {
		if a.b.Hard > 0 && !always && a.live > 0 && a.b.Window.Used+a.live+n.amount(a.b.Unit, g.Output) > a.limit()+epsilon {
			l.waiting[c.Run] = true
			return Grant{}, true, nil
		}
	}
	if g.Call = c.ID; g.Call == "" {
		g.Call = domain.NewID()
	}
	for _, a := range covering {
		g.Holds = append(g.Holds, a.hold(g.Call, n.amount(a.b.Unit, g.Output))) //seed:budget-hold
	}
	l.calls[g.Call] = &call{of: c, need: n, output: g.Output, bounded: g.Bounded, holds: slices.Clone(g.Holds)} //seed:budget-reserve
	return g, false, nil
}

// fitting returns the largest number of output tokens for an amount.
func (n Need) fitting(unit string, free float64) int64 {
	price := n.OutputPrice
	if unit == domain.UnitTokens {
		price = 1
	}
	if price <= 0 {
		return math.MaxInt64
	}
	most := math.Floor((free-n.amount(unit, 0))/price + epsilon)
	if most >= math.MaxInt64 {
		return math.MaxInt64
	}
	return max(int64(most), 1)
}

// Amount formats an amount of a unit.
func Amount(unit string, v float64) string {
	if unit == domain.UnitTokens {
		return strconv.FormatFloat(math.Round(v), 'f', 0, 64) + " tokens"
	}
	return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64)
}

func (a *account) refuse(least float64) *Refusal {
	b, w := a.b, a.b.Window
	r := &Refusal{Budget: b.ID, Key: b.Key, Start: w.Start, End: w.End, Least: least}
	if left := a.limit() - w.Used; left > 0 {
		r.Message = domain.Messagef("budget %s leaves %s until %s, and the next model call needs about %s", b.Key, Amount(b.Unit,
			left), w.End,
			Amount(b.Unit, least))
		return r
	}
	r.Message = domain.Messagef("budget %s is used up until %s: %s of %s", b.Key, w.End, Amount(b.Unit, w.Used), Amount(b.Unit,
		a.limit()))
	return r
}

func unpriced(a *account, n Need) *Refusal {
	return &Refusal{Unpriced: true, Message: domain.Messagef(
		"budget %s cannot be applied: no price is known for the next model call; set %s, then resume the run", a.b.Key, n.Unpriced)}
}

// Settle ends a call, and adds its usage. It returns false if the call is not known, or no budget covers it. A call that is
// not known counts with the holds of the charge, if it has any.
func (l *Ledger) Settle(c domain.BudgetCharge) bool {
	l.mu.Lock()
	holds, known := c.Holds, l.calls[c.Call]
	if known != nil {
		holds = known.holds
		delete(l.calls, c.Call)
		if known.adopting {
			l.early[c.Call] = c
		}
	}
	for _, h := range holds {
		a := l.accounts[h.Budget]
		if a == nil || !a.b.Window.Start.Equal(h.Start) {
			continue // deleted, or the usage counts in an earlier window
		}
		if known != nil {
			a.live = max(0, a.live-h.Amount)
		}
		w := &a.b.Window
		switch {
		case c.Unused:
			continue
		case c.Estimated:
			w.Used, w.Estimated = w.Used+h.Amount, w.Estimated+h.Amount
		case a.b.Unit == domain.UnitTokens:
			w.Used += float64(c.Usage.InputTokens + c.Usage.OutputTokens)
		default:
			w.Used += c.Usage.Cost
		}
		w.Calls++
	}
	woken := l.wokenLocked()
	l.mu.Unlock()
	l.wakeAll(woken)
	return len(holds) > 0
}

// HasRoom reports whether a call that needs an amount may run: the budget has room, is in another window, or does not
// exist any more.
func (l *Ledger) HasRoom(id string, start time.Time, least float64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[id]
	if a == nil {
		return true
	}
	a.roll(l.now())
	return !a.b.Window.Start.Equal(start) || a.b.Hard <= 0 || a.limit()-a.b.Window.Used > 0 && least <= a.limit()-a.b.Window.Used+epsilon
}

// Reserved returns what calls in flight have reserved from a budget.
func (l *Ledger) Reserved(id string) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.accounts[id]; a != nil {
		a.roll(l.now())
		return a.live
	}
	return 0
}

// Degraded returns the key of a budget that covers a call and has reached its degrade line, and the cheaper model to call.
func (l *Ledger) Degraded(c Call) (key, to string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.order {
		if a.b.Degrade <= 0 || !a.scope.Covers(c) {
			continue
		}
		if a.roll(l.now()); a.b.Window.Used+a.live+epsilon >= a.b.Degrade {
			return a.b.Key, a.b.DegradeTo
		}
	}
	return "", ""
}
