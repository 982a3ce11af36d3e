package kairos

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
)

// failuresCommand shows failed runs by what failed, and takes note of them.
func (c *program) failuresCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "failures", Short: "List failed runs by what failed", Args: cobra.NoArgs,
		Long:    "Groups failed runs by plan, node, error code and message (numbers, ids, times and quoted values aside): an outage that fails 400 runs is one line, with the filter that selects them.",
		Example: "  kairos failures\n  kairos resume --filter 'status:failed plan:invoice step:fetch error:timeout' --preview\n  kairos failures ack invoice fetch timeout --note \"waiting for quota\"",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(b *client.Client) error {
				groups, err := b.FailureGroups(cmd.Context(), 100)
				if err != nil {
					return err
				}
				if c.json {
					return c.Print(map[string]any{"items": append([]domain.FailureGroup{}, groups...)})
				}
				rows := [][]string{}
				for _, g := range groups {
					rows = append(rows, []string{strconv.FormatInt(g.Runs, 10), g.Code, g.Node, fmt.Sprintf("%s v%d", g.PlanKey, g.Version), cli.Stamp(g.First), cli.Stamp(g.Last), "--filter '" + filterOf(g.Ref()) + "'"})
				}
				c.Table([]string{"RUNS", "ERROR", "STEP", "PLAN", "FIRST", "LAST", "THEM"}, rows)
				if len(rows) == 0 {
					c.Errorf("no failure needs attention\n")
				}
				return nil
			})
		},
	}
	note := ""
	ack := c.failureAct("ack", "Take note of failures: they need attention no more until they come anew",
		"  kairos failures ack invoice fetch timeout --note 'waiting for quota, resume after 06:00'", "need attention no more",
		func(cmd *cobra.Command, b *client.Client, ref domain.FailureRef) (int64, error) {
			return b.AckFailures(cmd.Context(), ref, note)
		})
	ack.Flags().StringVar(&note, "note", "", "for whoever looks next")
	unack := c.failureAct("unack", "Take an acknowledgement of failures back", "  kairos failures unack invoice fetch timeout", "need attention again",
		func(cmd *cobra.Command, b *client.Client, ref domain.FailureRef) (int64, error) {
			return b.UnackFailures(cmd.Context(), ref)
		})
	cmd.AddCommand(ack, unack)
	return cmd
}

func (c *program) failureAct(use, short, example, done string, act func(*cobra.Command, *client.Client, domain.FailureRef) (int64, error)) *cobra.Command {
	alike := ""
	cmd := &cobra.Command{
		Use: use + " PLAN STEP ERROR", Short: short, Args: cobra.ExactArgs(3), Long: short + ". PLAN, STEP and ERROR are what \"kairos failures\" lists.", Example: example,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b *client.Client) error {
				n, err := act(cmd, b, domain.FailureRef{PlanKey: args[0], Node: args[1], Code: args[2], Alike: alike})
				if err != nil {
					return err
				}
				if c.json {
					return c.Print(map[string]any{"runs": n})
				}
				c.Printf("%d runs %s\n", n, done)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&alike, "alike", "", "only those whose messages are alike, as the filter of kairos failures names them; default: whatever they say")
	return cmd
}

// filterOf selects the runs of a group of failures.
func filterOf(ref domain.FailureRef) string {
	terms := []string{"status:failed", "is:attention", "plan:" + filter.Quote(ref.PlanKey), "step:" + filter.Quote(ref.Node), "error:" + filter.Quote(ref.Code)}
	if ref.Alike != "" {
		terms = append(terms, "alike:"+ref.Alike)
	}
	return strings.Join(terms, " ")
}
