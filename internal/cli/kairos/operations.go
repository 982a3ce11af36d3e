package kairos

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
)

func (c operationCommands) group() *cobra.Command {
	return command.Group("operations", "Track bulk operations", c.listCommand, c.showCommand(), c.stopCommand())
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
			return c.With(cmd, func(b *client.Client) error {
				list, err := b.Bulks(cmd.Context(), limit)
				if err != nil {
					return err
				}
				rows := [][]string{}
				for _, a := range list {
					rows = append(rows, []string{a.ID, string(a.Action), string(a.State), fmt.Sprintf("%d of %d", a.Acted, a.Total),
						strconv.FormatInt(a.Refused, 10), cli.Stamp(a.CreatedAt), a.Actor, cmp.Or(a.Note, a.Query, a.Reason)})
				}
				return c.ListOf(append([]apitypes.BulkOperation{}, list...), "",
					[]string{"OPERATION", "ACTION", "STATUS", "DONE", "REFUSED", "CREATED", "BY", "DESCRIPTION"}, rows,
					"no bulk operations")
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "maximum number of items, 1 to 100")
	return cmd
}

func (c operationCommands) showCommand() *cobra.Command {
	status := ""
	cmd := &cobra.Command{
		Use: "show OPERATION", Short: "Show the progress of a bulk operation", Args: cobra.ExactArgs(1),
		Long:    "Shows a bulk operation and its runs: the result of each, or why it was refused.",
		Example: "  kairos operations show 01jr8k2mf0aaaaaaaaaaaa7qx2 --status refused",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				act, err := b.BulkAct(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				items, err := b.BulkItems(cmd.Context(), act.ID, status)
				if err != nil {
					return err
				}
				return c.printOperation(act, items)
			})
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "only runs with this status: pending, acted, or refused")
	return cmd
}

// printOperation prints an operation and its runs.
func (c operationCommands) printOperation(act apitypes.BulkOperation, items []domain.BulkItem) error {
	if c.JSON {
		return c.Print(struct {
			apitypes.BulkOperation
			Items []domain.BulkItem `json:"items"`
		}{act, items})
	}
	notBefore := ""
	if !act.NotBefore.IsZero() {
		notBefore = cli.Stamp(act.NotBefore)
	}
	c.Facts("operation "+act.ID, [][2]string{{"action", string(act.Action)}, {"status", string(act.State)},
		{"runs", progressOf(act)},
		{"created", cli.Stamp(act.CreatedAt) + " by " + act.Actor}, {"reason", act.Reason}, {"filter", act.Query},
		{"not before", notBefore}, {"waits for provider", act.Provider}, {"waits for tool", act.Tool}, {"note", act.Note}})
	rows := [][]string{}
	for _, it := range items {
		rows = append(rows, []string{itemName(act, it), it.State, it.Result, it.Detail})
	}
	c.Table([]string{"RUN", "STATUS", "NEW RUN", "DETAIL"}, rows)
	return nil
}

func (c operationCommands) stopCommand() *cobra.Command {
	reason := ""
	cmd := &cobra.Command{
		Use: "stop OPERATION", Short: "Stop a bulk operation", Args: cobra.ExactArgs(1),
		Long:    "Stops a bulk operation. Runs that it has not reached stay as they are.",
		Example: "  kairos operations stop 01jr8k2mf0aaaaaaaaaaaa7qx2 --reason \"wrong filter\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				act, err := b.StopBulk(cmd.Context(), args[0], reason)
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(act)
				}
				c.Printf("operation %s is %s: %s\n", act.ID, act.State, progressOf(act))
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason, for the audit log")
	return cmd
}

// itemName returns the run of an item, or the slot of a backfill.
func itemName(act apitypes.BulkOperation, it domain.BulkItem) string {
	if _, slot, ok := strings.Cut(it.Run, "@"); ok && act.Action == domain.ActionBackfill {
		return slot
	}
	return it.Run
}

// progressOf describes the progress of a bulk operation.
func progressOf(act apitypes.BulkOperation) string {
	return fmt.Sprintf("%d of %d done, %d refused", act.Acted, act.Total, act.Refused)
}
