package kairos

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
)

func (c operationCommands) group() *cobra.Command {
	return group("operations", "Track bulk operations", c.listCommand, c.showCommand(), c.stopCommand())
}

func (c operationCommands) listCommand() *cobra.Command {
	limit := 0
	cmd := &cobra.Command{
		Use: "list", Short: "List bulk operations", Args: cobra.NoArgs,
		Long: `Lists the newest bulk operations. An action with --filter, with several runs, or with
--not-before, --provider or --tool starts one, and so does the dashboard. Bulk operations
survive restarts of the server.`,
		Example: "  kairos operations\n  kairos operations --limit 10 --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(b *client.Client) error {
				list, err := b.Bulks(cmd.Context(), limit)
				if err != nil {
					return err
				}
				rows := [][]string{}
				for _, a := range list {
					rows = append(rows, []string{a.ID, string(a.Action), string(a.State), fmt.Sprintf("%d of %d", a.Acted, a.Total),
						strconv.FormatInt(a.Refused, 10), cli.Stamp(a.CreatedAt), a.Actor, cmp.Or(a.Note, a.Query, a.Reason)})
				}
				return c.Listed(
					c.json,
					append([]domain.Bulk{}, list...),
					"",
					[]string{"OPERATION", "ACTION", "STATUS", "DONE", "REFUSED", "STARTED",
						"BY", "ABOUT"},
					rows,
					"no bulk operations",
				)
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "maximum number of items, 1 to 100")
	return cmd
}

func (c operationCommands) showCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show OPERATION", Short: "Show the progress of a bulk operation", Args: cobra.ExactArgs(1),
		Long:    "Shows a bulk operation and its runs: the result of each, or why it was refused.",
		Example: "  kairos operations show 01jr8k2mf0aaaaaaaaaaaa7qx2",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b *client.Client) error {
				act, err := b.BulkAct(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				items, err := b.BulkItems(cmd.Context(), act.ID)
				if err != nil {
					return err
				}
				rows := [][]string{}
				if c.json {
					return c.Print(struct {
						domain.Bulk
						Items []domain.BulkItem `json:"items"`
					}{act, items})
				}
				c.Printf(
					"operation %s: %s, %s: %d of %d done, %d refused\n  started %s by %s %s\n",
					act.ID,
					act.Action,
					act.State,
					act.Acted,
					act.Total,
					act.Refused,
					cli.Stamp(act.CreatedAt),
					cli.FirstLine(act.Actor),
					cli.FirstLine(act.Reason),
				)
				for _, fact := range [][2]string{{"filter", act.Query}, {"waits for provider", act.Provider}, {"waits for tool", act.Tool},
					{"note", act.Note}} {
					if fact[1] != "" {
						c.Printf("  %s: %s\n", fact[0], cli.FirstLine(fact[1]))
					}
				}
				if !act.NotBefore.IsZero() {
					c.Printf("  not before: %s\n", cli.Stamp(act.NotBefore))
				}
				for _, it := range items {
					rows = append(rows, []string{it.Run, it.State, it.Result, it.Detail})
				}
				c.Table([]string{"RUN", "STATE", "NEW RUN", "DETAIL"}, rows)
				return nil
			})
		},
	}
}

func (c operationCommands) stopCommand() *cobra.Command {
	reason := ""
	cmd := &cobra.Command{
		Use: "stop OPERATION", Short: "Stop a bulk operation", Args: cobra.ExactArgs(1),
		Long:    "Stops a bulk operation. Runs that it has not reached stay as they are.",
		Example: "  kairos operations stop 01jr8k2mf0aaaaaaaaaaaa7qx2 --reason \"wrong filter\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b *client.Client) error {
				act, err := b.StopBulk(cmd.Context(), args[0], reason)
				if err != nil {
					return err
				}
				if c.json {
					return c.Print(act)
				}
				c.Printf("operation %s is %s: %d of %d done, %d refused\n", act.ID, act.State, act.Acted, act.Total, act.Refused)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason, for the audit log")
	return cmd
}
