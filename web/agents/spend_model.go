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
}

// SpendTable is the spend by one dimension. SpendRow is the spend of one name.
type (
	SpendTable struct {
		ID, Title, Head string
		Rows            []SpendRow
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

// unit returns the unit of the chart.
func (p SpendPage) unit(ctx context.Context) string {
	if p.Priced {
		return kit.T(ctx, "in the currency of the configured prices")
	}
	return kit.T(ctx, "tokens, because no model has a price in the configuration")
}
