package apitypes

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Budget limits the usage of the model calls in its scope, in each window.
type Budget struct {
	ID          string       `json:"id"`
	Key         string       `json:"key" doc:"The name of the budget, unique."`
	Scope       string       `json:"scope" doc:"The model calls that count: all, plan:KEY, agent:ID, provider:NAME, or label:KEY=VALUE."`
	Period      string       `json:"period" enum:"hour,day,month" doc:"The length of a window."`
	TimeZone    string       `json:"timeZone" doc:"The IANA time zone in which windows begin."`
	Unit        string       `json:"unit" enum:"cost,tokens" doc:"cost: in the currency of the prices in the configuration."`
	Soft        float64      `json:"soft" doc:"The usage that sends a notification; 0: none."`
	Degrade     float64      `json:"degrade" doc:"The usage from which calls go to degradeTo; 0: none."`
	DegradeTo   string       `json:"degradeTo" doc:"The cheaper model, as PROVIDER/MODEL; empty: none."`
	Hard        float64      `json:"hard" doc:"The usage that no call may exceed; 0: none."`
	Window      BudgetWindow `json:"window" doc:"The current window."`
	Reserved    float64      `json:"reserved" doc:"What calls in flight have reserved."`
	Predicted   float64      `json:"predicted" doc:"The usage at the end of the window, at the pace so far."`
	ExhaustedAt time.Time    `json:"exhaustedAt,omitzero" doc:"When the hard line is reached, at the pace so far; absent: not in this window."`
	Unpriced    []string     `json:"unpriced" nullable:"false" doc:"Settings of prices that models in the scope lack; runs that call them wait."`
	Waiting     int          `json:"waiting" doc:"The number of runs that wait for the budget."`
	Actor       string       `json:"actor" doc:"Principal that created the budget or changed it last."`
	Rev         int64        `json:"rev" doc:"The revision, which the ETag is made of."`
	CreatedAt   time.Time    `json:"createdAt"`
	UpdatedAt   time.Time    `json:"updatedAt"`
}

// BudgetWindow is the usage of a budget in a window.
type BudgetWindow struct {
	From      time.Time `json:"from" doc:"The beginning of the window."`
	To        time.Time `json:"to" doc:"The end of the window."`
	Calls     int64     `json:"calls" doc:"The number of model calls."`
	Used      float64   `json:"used" doc:"The usage, in the unit of the budget."`
	Estimated float64   `json:"estimated" doc:"The part of used of calls whose usage is unknown. They count with what they reserved."`
	Raised    float64   `json:"raised" doc:"What was added to the hard line of this window."`
	SoftAt    time.Time `json:"softAt,omitzero" doc:"When the soft line was reached; absent: it was not."`
	DegradeAt time.Time `json:"degradeAt,omitzero" doc:"When the degrade line was reached; absent: it was not."`
	HardAt    time.Time `json:"hardAt,omitzero" doc:"When the first run waited for the budget; absent: none did."`
}

// BudgetDetail is a single budget with its windows, and the runs that wait for it.
type BudgetDetail struct {
	Budget
	Windows []BudgetWindow `json:"windows" doc:"Windows with usage, newest first, at most 60."`
	Runs    []BudgetRun    `json:"runs" doc:"Runs that wait for the budget, oldest first, at most 100."`
}

// BudgetRun is a run that waits for a budget.
type BudgetRun struct {
	Run   string    `json:"run"`
	Plan  string    `json:"plan" doc:"The key of the plan."`
	Since time.Time `json:"since" doc:"When the wait began."`
	Until time.Time `json:"until" doc:"When the next window begins and the run continues."`
}

// BudgetCreate is a budget to create.
type BudgetCreate struct {
	Key       string  `json:"key" minLength:"1" maxLength:"100" doc:"The name of the budget: letters, digits, and . _ -"`
	Scope     string  `json:"scope,omitempty" maxLength:"400" doc:"all, plan:KEY, agent:ID, provider:NAME, or label:KEY=VALUE; absent: all."`
	Period    string  `json:"period,omitempty" enum:"hour,day,month" doc:"Absent: day."`
	TimeZone  string  `json:"timeZone,omitempty" maxLength:"64" doc:"An IANA name; absent: UTC."`
	Unit      string  `json:"unit,omitempty" enum:"cost,tokens" doc:"Absent: cost. It requires prices in the configuration."`
	Soft      float64 `json:"soft,omitempty" minimum:"0" doc:"The usage that sends a notification; 0: none."`
	Degrade   float64 `json:"degrade,omitempty" minimum:"0" doc:"The usage from which calls go to degradeTo; 0: none."`
	DegradeTo string  `json:"degradeTo,omitempty" maxLength:"200" doc:"The cheaper model, as PROVIDER/MODEL."`
	Hard      float64 `json:"hard,omitempty" minimum:"0" doc:"The usage that no call may exceed; 0: none."`
}

// BudgetEdit changes the lines of a budget. Absent lines do not change.
type BudgetEdit struct {
	Soft      *float64 `json:"soft,omitempty" minimum:"0" doc:"The usage that sends a notification; 0: none."`
	Degrade   *float64 `json:"degrade,omitempty" minimum:"0" doc:"The usage from which calls go to degradeTo; 0: none."`
	DegradeTo *string  `json:"degradeTo,omitempty" maxLength:"200" doc:"The cheaper model, as PROVIDER/MODEL; empty: none."`
	Hard      *float64 `json:"hard,omitempty" minimum:"0" doc:"The usage that no call may exceed; 0: none."`
}

// BudgetRaise adds to the hard line of the current window.
type BudgetRaise struct {
	Amount float64 `json:"amount" minimum:"0" doc:"The amount to add to the hard line until the window ends."`
	Reason string  `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log."`
}

// BudgetOf is a budget as the API returns it.
func BudgetOf(b domain.BudgetState) Budget {
	return Budget{ID: b.ID, Key: b.Key, Scope: b.Scope, Period: b.Period, TimeZone: b.Zone, Unit: b.Unit, Soft: b.Soft, Degrade: b.Degrade,
		DegradeTo: b.DegradeTo, Hard: b.Hard, Window: BudgetWindowOf(b.Window), Reserved: b.Reserved, Predicted: b.Predicted,
		ExhaustedAt: b.Exhausted, Unpriced: append([]string{}, b.Unpriced...),
		Waiting: b.Waiting, Actor: b.Actor, Rev: b.Rev, CreatedAt: b.CreatedAt, UpdatedAt: b.UpdatedAt}
}

// BudgetWindowOf is a window as the API returns it.
func BudgetWindowOf(w domain.BudgetWindow) BudgetWindow {
	return BudgetWindow{From: w.Start, To: w.End, Calls: w.Calls, Used: w.Used, Estimated: w.Estimated, Raised: w.Extra, SoftAt: w.SoftAt,
		DegradeAt: w.DegradeAt, HardAt: w.HardAt}
}

// BudgetRunOf is a run that waits for a budget, as the API returns it.
func BudgetRunOf(w domain.BudgetWait) BudgetRun {
	return BudgetRun{Run: w.Run, Plan: w.PlanKey, Since: w.Since, Until: w.Until}
}
