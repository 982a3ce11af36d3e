package kairos

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/exit"
)

func (c spendCommands) command() *cobra.Command {
	var l command.ListFlags
	table := false
	q := client.SpendQuery{Since: "30d"}
	cmd := &cobra.Command{
		Use: "spend", Short: "Show the usage and the cost of models", Args: cobra.NoArgs,
		Long: `Shows model calls, tokens, and cost by plan, agent, provider, model, or label of the run, the
most expensive first. The cost is 0 unless the configuration has prices of the model.
The calls of a child run count for its own plan and labels. With --by label, a call
counts for each label of its run, unless --label names the key of one.`,
		Example: "  kairos spend\n  kairos spend --by agent --by model --since 7d\n" +
			"  kairos spend --by label --label team --period month --since 365d\n" +
			"  kairos spend --by model --period day --csv > spend.csv",
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range q.By {
				if !slices.Contains(apitypes.SpendBy, name) {
					return exit.Usage("unknown --by %q\n  use %s", name, strings.Join(apitypes.SpendBy, ", "))
				}
			}
			if q.Period != "" && !slices.Contains(apitypes.SpendPeriods, q.Period) {
				return exit.Usage("unknown --period %q\n  use %s", q.Period, strings.Join(apitypes.SpendPeriods, ", "))
			}
			if table && c.JSON {
				return exit.Usage("use either --csv or --json, not both")
			}
			q.Page = l.Page()
			return c.With(cmd, func(b *client.Client) error {
				if table {
					text, err := b.SpendCSV(cmd.Context(), q)
					c.Printf("%s", text)
					return err
				}
				return c.list(cmd, b, q)
			})
		},
	}
	l.Add(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&q.By, "by", []string{"plan"}, "plan, agent, provider, model, or label; repeatable")
	f.StringVar(&q.Label, "label", "", "with --by label: the key of the only label to sum by")
	f.StringVar(&q.Since, "since", q.Since, "24h, 7d, or a time")
	f.StringVar(&q.Period, "period", "", "one sum per hour, day, or month, in UTC")
	f.BoolVar(&table, "csv", false, "print the whole table as CSV")
	return cmd
}

func (c spendCommands) list(cmd *cobra.Command, b *client.Client, q client.SpendQuery) error {
	sums, err := b.Spend(cmd.Context(), q)
	if err != nil {
		return err
	}
	rows, next := [][]string{}, ""
	for _, e := range sums.Items {
		rows = append(rows, spendRow(e, q.Period != ""))
	}
	if sums.NextCursor != nil {
		next = *sums.NextCursor
	}
	if sums.Cut {
		c.Notef("there are too many sums; these begin at %s\n", cli.Stamp(sums.Since))
	}
	return c.ListOf(append([]apitypes.Spend{}, sums.Items...), next,
		[]string{"FROM", "PLAN", "AGENT", "PROVIDER", "MODEL", "LABEL", "CALLS", "INPUT TOKENS", "OUTPUT TOKENS", "COST"}, rows,
		"no model calls found")
}

func spendRow(e apitypes.Spend, periods bool) []string {
	from := ""
	if periods {
		from = cli.Stamp(e.From)
	}
	return []string{from, e.Plan, e.Agent, e.Provider, e.Model, e.Label, strconv.FormatInt(e.Calls, 10),
		strconv.FormatInt(e.InputTokens, 10), strconv.FormatInt(e.OutputTokens, 10), strconv.FormatFloat(e.Cost, 'f', 4, 64)}
}
