package agents

import (
	"context"

	"github.com/kairosd/kairosd/web/kit"
)

// SpendPage is the model of the page about the cost of model calls.
type SpendPage struct {
	kit.Shell
	Parts, Ranges []kit.Link
	By, Legend    []kit.Link // dimensions of the chart, and its parts
	CSV           string
	Figures       []kit.Fact // empty if no model was called
	Rest          bool       // the last part of the chart includes several names
	Priced        bool       // a model has a price; otherwise tokens are compared
	Chart         kit.Chart
	Tables        []SpendTable
	Cut           string // set if the page begins later than its range
	// Budgets are the budgets that are used up first. MoreBudgets reports that there are others.
	Budgets     []BudgetRow
	MoreBudgets bool
}

// SpendTable is the spend by one dimension. SpendRow is the spend of one name.
type (
	SpendTable struct {
		ID, Title, Head string
		Rows            []SpendRow
		Remark, More    string // More is the number of rows that are left out
	}
	SpendRow struct {
		Name                       kit.Link
		Calls, Input, Output, Cost string
		Share, Bar                 string
	}
)

// overTime returns the header of the chart.
func (p SpendPage) overTime(ctx context.Context) kit.CardHead {
	return kit.CardHead{
		ID: "over-time", Title: kit.T(ctx, "Over time"), Remark: p.unit(ctx), Choices: p.Ranges, Label: kit.T(ctx, "Time range"),
	}
}

// budgetHead returns the header of the budgets.
func (p SpendPage) budgetHead(ctx context.Context) kit.CardHead {
	return kit.CardHead{ID: "budgets", Title: kit.T(ctx, "Budgets and predictions")}
}

// nothing returns the text of a page without calls.
func (p SpendPage) nothing(ctx context.Context) string {
	return kit.T(ctx, "No model was called in this time. This page shows the spend over time, by plan, agent, model, and label.")
}

// unit returns the unit of the chart.
func (p SpendPage) unit(ctx context.Context) string {
	if p.Priced {
		return kit.T(ctx, "in the currency of the configured prices")
	}
	return kit.T(ctx, "tokens, because no model has a price in the configuration")
}
