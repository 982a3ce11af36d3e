package domain

import "time"

// Values of [BudgetSpec.Period] and [BudgetSpec.Unit].
const (
	PeriodHour  = "hour"
	PeriodDay   = "day"
	PeriodMonth = "month"
	UnitCost    = "cost" // in the currency of the configured prices
	UnitTokens  = "tokens"
)

// BudgetPeriods and BudgetUnits list all values. The first is the default.
var (
	BudgetPeriods = []string{PeriodDay, PeriodHour, PeriodMonth}
	BudgetUnits   = []string{UnitCost, UnitTokens}
)

// MaxBudgets is the maximum number of budgets.
const MaxBudgets = 200

// BudgetSpec is what a person defines about a budget. A line of 0 does not exist.
type BudgetSpec struct {
	// Scope selects model calls: all, plan:KEY, agent:ID, provider:NAME, or label:KEY=VALUE.
	Scope  string `json:"scope"`
	Period string `json:"period"`
	Zone   string `json:"timeZone"` // IANA name
	Unit   string `json:"unit"`
	// Soft is the usage that causes a notification.
	Soft float64 `json:"soft"`
	// Degrade is the usage from which calls go to DegradeTo.
	Degrade float64 `json:"degrade"`
	// Hard is the usage that no call may exceed.
	Hard float64 `json:"hard"`
	// DegradeTo is PROVIDER/MODEL.
	DegradeTo string `json:"degradeTo,omitempty"`
}

// Budget limits the usage of the model calls in its scope, in each window.
type Budget struct {
	ID, Key string
	BudgetSpec
	// Actor created the budget or changed it last.
	Actor                string
	Rev                  int64
	CreatedAt, UpdatedAt time.Time
	// Window is the newest window with usage or a raise. Its start is zero if there is none.
	Window BudgetWindow
	// Waiting is the number of runs that wait for the budget.
	Waiting int
}

// Detail describes the settings in the audit log.
func (b Budget) Detail() map[string]any {
	return map[string]any{"scope": b.Scope, "period": b.Period, "timeZone": b.Zone, "unit": b.Unit, "soft": b.Soft, "degrade": b.Degrade,
		"hard": b.Hard, "degradeTo": b.DegradeTo}
}

// BudgetWindow is the usage of a budget from Start to before End.
type BudgetWindow struct {
	Start, End time.Time
	Calls      int64
	Used       float64
	// Estimated is the part of Used of calls whose usage is unknown. They count with their reservation.
	Estimated float64
	// Extra is added to the hard line of this window.
	Extra float64
	// SoftAt, DegradeAt, and HardAt are when the window reached a line, or zero.
	SoftAt, DegradeAt, HardAt time.Time
}

// BudgetHold is what a call in flight has reserved from a budget.
type BudgetHold struct {
	Call       string // ID of the call
	Budget     string // ID
	Start, End time.Time
	Amount     float64
}

// BudgetCharge ends the holds of a call.
type BudgetCharge struct {
	Call string
	// Usage counts instead of the reserved amounts. If Estimated is set, the reserved amounts count.
	Usage     Usage
	Estimated bool
	// Unused means that the call was not made.
	Unused bool
	// Holds are the holds of the call. They count if the store does not have them, because the database was restored. They
	// are set if the run is executed in another program.
	Holds []BudgetHold
}

// BudgetWait is a wait of a run for a budget.
type BudgetWait struct {
	Budget       string // ID; empty: the wait has ended
	Run, PlanKey string
	Since        time.Time
	// Start and Until are the window that is used up.
	Start, Until time.Time
	// Least is the amount that the next call needs.
	Least float64
}

// BudgetState is a budget in its current window.
type BudgetState struct {
	Budget
	// Reserved is what calls in flight have reserved.
	Reserved float64
	// Exhausted is when the hard line will be reached at the pace of the window, or zero.
	Exhausted time.Time
	// Predicted is the usage at the end of the window at that pace.
	Predicted float64
	// Unpriced are the settings of prices that models of its scope lack. A run that calls such a model waits.
	Unpriced []string
}

// Limit is the hard line of the current window, or 0 if there is none.
func (b BudgetState) Limit() float64 {
	if b.Hard == 0 {
		return 0
	}
	return b.Hard + b.Window.Extra
}

// BudgetSeed selects the recorded usage with which a new budget begins. An empty name means any. Label is the key of a
// label, and Value its value.
type BudgetSeed struct{ Plan, Agent, Provider, Label, Value string }

// How long the windows of a budget are kept after their end, by period. Months are kept for good.
const (
	BudgetHoursKept = 31 * 24 * time.Hour
	BudgetDaysKept  = 400 * 24 * time.Hour
)
