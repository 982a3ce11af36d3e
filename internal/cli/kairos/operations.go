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

// bulkCommand looks after acts on many runs.
func (c operationCommands) bulkCommand() *cobra.Command {
	limit := 0
	cmd := &cobra.Command{
		Use: "bulk", Short: "List, show and stop acts on many runs", Args: cobra.NoArgs,
		Long: `Lists the newest acts on many runs, which are begun by a verb with --filter or with
several runs, by --not-before, --provider or --tool, or on the dashboard. They
outlast restarts of the daemon.`,
		Example: "  kairos bulk\n  kairos bulk show 01jr8k2mf0aaaaaaaaaaaa7qx2\n  kairos bulk stop 01jr8k2mf0aaaaaaaaaaaa7qx2 --reason \"wrong filter\"",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(b *client.Client) error {
				list, err := b.Bulks(cmd.Context(), limit)
				if err != nil {
					return err
				}
				rows := [][]string{}
				for _, a := range list {
					rows = append(rows, []string{a.ID, string(a.Action), string(a.State), fmt.Sprintf("%d of %d", a.Acted, a.Total), strconv.FormatInt(a.Refused, 10), cli.Stamp(a.CreatedAt), a.Actor, cmp.Or(a.Note, a.Query, a.Reason)})
				}
				return c.Listed(c.json, append([]domain.Bulk{}, list...), "", []string{"BULK ACT", "ACTION", "STATE", "ACTED ON", "REFUSED", "BEGUN", "BY", "ABOUT"}, rows, "there was no act on many runs")
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "at most so many (100)")
	show := &cobra.Command{
		Use: "show BULK", Short: "Show how far an act on many runs is", Args: cobra.ExactArgs(1),
		Long:    "Shows an act on many runs, and each run of it: whether it was acted on, what came of it, and why not.",
		Example: "  kairos bulk show 01jr8k2mf0aaaaaaaaaaaa7qx2",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b *client.Client) error {
				act, err := b.BulkAct(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				items, rows := []domain.BulkItem{}, [][]string{}
				for after := int64(0); ; {
					part, err := b.BulkItems(cmd.Context(), act.ID, after, 200)
					if err != nil {
						return err
					}
					if len(part) == 0 {
						break
					}
					items, after = append(items, part...), part[len(part)-1].Position
				}
				if c.json {
					return c.Print(struct {
						domain.Bulk
						Items []domain.BulkItem `json:"items"`
					}{act, items})
				}
				c.Printf("bulk act %s: %s, %s: %d of %d acted on, %d refused\n  begun %s by %s %s\n", act.ID, act.Action, act.State, act.Acted, act.Total, act.Refused, cli.Stamp(act.CreatedAt), cli.FirstLine(act.Actor), cli.FirstLine(act.Reason))
				for _, fact := range [][2]string{{"filter", act.Query}, {"waits for provider", act.Provider}, {"waits for tool", act.Tool}, {"note", act.Note}} {
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
	reason := ""
	stop := &cobra.Command{
		Use: "stop BULK", Short: "Stop an act on many runs", Args: cobra.ExactArgs(1),
		Long:    "Stops an act on many runs: those that it has not reached stay as they are.",
		Example: "  kairos bulk stop 01jr8k2mf0aaaaaaaaaaaa7qx2 --reason \"wrong filter\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b *client.Client) error {
				act, err := b.StopBulk(cmd.Context(), args[0], reason)
				if err != nil {
					return err
				}
				if c.json {
					return c.Print(act)
				}
				c.Printf("bulk act %s is %s: %d of %d acted on, %d refused\n", act.ID, act.State, act.Acted, act.Total, act.Refused)
				return nil
			})
		},
	}
	stop.Flags().StringVar(&reason, "reason", "", "why, for the audit log")
	cmd.AddCommand(show, stop)
	return cmd
}
