package agents

import "github.com/kairosd/kairosd/web/kit"

// BudgetsPage is the list of budgets.
type BudgetsPage struct {
	kit.Shell
	Parts []kit.Link
	New   string // empty if the user may not create budgets
	Rows  []BudgetRow
}

// BudgetRow is a budget in the list.
type BudgetRow struct {
	Name                kit.Link
	Status              kit.Status
	Scope, Period       string
	Used, Limit, Bar    string
	Prediction, Waiting string
	Next                kit.Time
}

// BudgetPage is the page of one budget.
type BudgetPage struct {
	kit.Shell
	Crumbs           kit.Crumbs
	Heading          string
	Status           kit.Status
	Actions          []kit.Link
	Facts            []kit.Fact
	Used, Limit, Bar string
	Prediction       string
	Unpriced         string // empty if all models in the scope have prices
	Lines            []BudgetLine
	Windows          []BudgetWindow
	Runs             []BudgetRun
}

// BudgetLine is a line of a budget, or another amount, with its meaning.
type BudgetLine struct{ Term, Amount, Effect string }

// BudgetWindow is the usage of a window.
type BudgetWindow struct {
	From                     kit.Time
	Calls, Used, Bar, Raised string
}

// BudgetRun is a run that waits for a budget.
type BudgetRun struct {
	Run, Plan kit.Link
	Since     kit.Time
}

// BudgetEdit is the form that creates or changes a budget.
type BudgetEdit struct {
	kit.Shell
	Crumbs                                kit.Crumbs
	Heading, Post, Back, Idem, Rev, Error string
	New                                   bool
	Key, Scope, Zone                      string
	Periods, Units                        []kit.Option
	Soft, Degrade, DegradeTo, Hard        string
	Button                                string
}

// RaisePage is the form that raises a budget.
type RaisePage struct {
	kit.Shell
	Crumbs                           kit.Crumbs
	Heading, Post, Back, Idem, Error string
	Facts                            []kit.Fact
	Effect, Amount                   string
}
