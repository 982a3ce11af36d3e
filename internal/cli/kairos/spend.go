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

// spendPeriods are the values of --period.
var spendPeriods = []string{"hour", "day"}

func (c spendCommands) command() *cobra.Command {
	var l command.ListFlags
	q := client.SpendQuery{Since: "30d"}
	cmd := &cobra.Command{
		Use: "spend", Short: "Show the usage and the cost of models", Args: cobra.NoArgs,
		Long: `Shows model calls, tokens, and cost by plan, agent, or model, the most expensive first. The
cost is 0 unless the configuration has prices of the model. The calls of a child run
count for its own plan.`,
		Example: "  kairos spend\n  kairos spend --by agent --by model --since 7d\n  kairos spend --by model --period day --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range q.By {
				if !slices.Contains(apitypes.SpendBy, name) {
					return exit.Usage("unknown --by %q\n  use plan, agent, or model", name)
				}
			}
			if q.Period != "" && !slices.Contains(spendPeriods, q.Period) {
				return exit.Usage("unknown --period %q\n  use %s", q.Period, strings.Join(spendPeriods, " or "))
			}
			q.Page = l.Page()
			return c.With(cmd, func(b *client.Client) error {
				list, err := b.Spend(cmd.Context(), q)
				if err != nil {
					return err
				}
				rows := [][]string{}
				for _, e := range list.Items {
					rows = append(rows, spendRow(e, q.Period != ""))
				}
				return c.ListOf(append([]apitypes.Spend{}, list.Items...), list.Next,
					[]string{"FROM", "PLAN", "AGENT", "MODEL", "CALLS", "INPUT TOKENS", "OUTPUT TOKENS", "COST"}, rows,
					"no model calls found")
			})
		},
	}
	l.Add(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&q.By, "by", []string{"plan"}, "plan, agent, or model; repeatable")
	f.StringVar(&q.Since, "since", q.Since, "24h, 7d, or a time")
	f.StringVar(&q.Period, "period", "", "one sum per hour or day, in UTC")
	return cmd
}

func spendRow(e apitypes.Spend, periods bool) []string {
	from := ""
	if periods {
		from = cli.Stamp(e.From)
	}
	return []string{from, e.Plan, e.Agent, e.Model, strconv.FormatInt(e.Calls, 10), strconv.FormatInt(e.InputTokens, 10),
		strconv.FormatInt(e.OutputTokens, 10), strconv.FormatFloat(e.Cost, 'f', 4, 64)}
}
