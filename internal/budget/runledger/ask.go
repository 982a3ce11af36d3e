package runledger

import (
	"github.com/kairosd/kairosd/internal/budget"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
)

// Ask asks the driver of a run, which is in another program than its attempt, whether a call may start.
type Ask struct {
	Substep int
	Need
	// MayDegrade permits the answer Degrade. Note explains the row of a call that was degraded.
	MayDegrade bool
	Note       string
	// Budgets is the digest of the budgets in the last answer.
	Budgets string
}

// Answer is the answer to an Ask.
type Answer struct {
	// Output is the maximum number of output tokens, or 0 for no limit.
	Output  int64
	Refused *Refusal
	// Degrade names the cheaper model to ask for. Nothing is reserved then.
	Degrade *Degrade
	// Pending means that the answer is not known yet. Over means that the attempt does not count any more.
	Pending, Over bool
	// Limits, Spent, and Budgets are those of the run now. Budgets is nil if they have not changed.
	Limits  domain.Limits
	Spent   runstate.Spent
	Budgets *budget.Scopes
}

// Degrade is a cheaper model, and the key of the budget that requires it.
type Degrade struct{ Budget, To string }

// Note explains the row of a call that goes to the cheaper model.
func (d Degrade) Note(provider string) string {
	return "budget " + d.Budget + " sent the call to " + d.To + " instead of provider " + provider
}

// SharedAsk asks for the usage of a call from the shared budgets. Call.ID identifies it, so that it may be repeated.
type SharedAsk struct {
	budget.Call
	Need budget.Need
	// Always permits the call whatever the lines are. MayDegrade permits the answer Degrade.
	Always, MayDegrade bool
}

// SharedAnswer is the answer to a SharedAsk.
type SharedAnswer struct {
	budget.Grant
	// Wait means that the call would fit if calls in flight used less than they have reserved.
	Wait    bool
	Refused *Refusal
	Degrade *Degrade
}

// Answer asks the ledger of the budgets.
func (q SharedAsk) Answer(l *budget.Ledger) (a SharedAnswer) {
	if by, to := l.Degraded(q.Call); to != "" && q.MayDegrade {
		return SharedAnswer{Degrade: &Degrade{Budget: by, To: to}}
	}
	grant, wait, refused := l.Reserve(q.Call, q.Need, q.Always)
	if refused != nil {
		return SharedAnswer{Refused: RefusedBy(refused)}
	}
	return SharedAnswer{Grant: grant, Wait: wait}
}
