package kairos

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
)

// memoryCommand shows what sessions remember.
func (c sessionCommands) memoryCommand() *cobra.Command {
	var owner string
	cmd := &cobra.Command{
		Use: "memory [SESSION]", Short: "Show what sessions remember", Args: cobra.MaximumNArgs(1),
		Long: `Lists your sessions that remember something, or what one of them remembers,
newest first. A session is what "--session" names when a run is started; its
agents are told of what was said in it before. Only an admin may look at another
owner's. "kairos forget SESSION" makes a session forget.`,
		Example: "  kairos memory\n  kairos memory customer-7\n  kairos memory --owner ana --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b *client.Client) error {
				if len(args) == 0 {
					return c.listSessions(cmd, b, owner)
				}
				list, err := b.Memories(cmd.Context(), owner, args[0], domain.Page{Limit: 200})
				if err != nil {
					return err
				}
				if c.json {
					return c.Print(map[string]any{"items": list.Items})
				}
				if len(list.Items) == 0 {
					c.Errorf("session %s remembers nothing\n", cli.FirstLine(args[0]))
				}
				for _, m := range list.Items {
					c.Printf("%s  %s\n  asked:    %s\n  answered: %s\n", m.At.Format(time.RFC3339), m.Run, cli.FirstLine(m.Input), cli.FirstLine(m.Output))
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&owner, "owner", "", "whose sessions; default: your own")
	return cmd
}

func (c sessionCommands) listSessions(cmd *cobra.Command, b *client.Client, owner string) error {
	var all []domain.MemorySession
	p := domain.Page{Limit: 200}
	for {
		list, err := b.MemorySessions(cmd.Context(), owner, p)
		if err != nil {
			return err
		}
		all = append(all, list.Items...)
		if p.After = list.Next; p.After == "" {
			break
		}
	}
	if c.json {
		return c.Print(map[string]any{"items": append([]domain.MemorySession{}, all...)})
	}
	rows := [][]string{}
	for _, s := range all {
		rows = append(rows, []string{s.Session, strconv.FormatInt(int64(s.Exchanges), 10), cli.Stamp(s.LastAt)})
	}
	c.Table([]string{"SESSION", "EXCHANGES", "LAST"}, rows)
	if len(rows) == 0 {
		c.Errorf("no session remembers anything\n")
	}
	return nil
}

// forgetCommand makes a session forget.
func (c sessionCommands) forgetCommand() *cobra.Command {
	var owner, reason string
	cmd := &cobra.Command{
		Use: "forget SESSION", Short: "Forget what a session remembers", Args: cobra.ExactArgs(1),
		Long: `Removes what a session remembers, for good: agents of later runs are not told of
it. The journals of the runs in which it was said stay until retention or "kairos
delete" takes them. "kairos memory SESSION" shows what would be forgotten. Only an
admin may do it to another owner's session.`,
		Example: "  kairos forget customer-7 --reason \"asked to be forgotten\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b *client.Client) error {
				n, err := b.Forget(cmd.Context(), owner, args[0], reason)
				if err != nil {
					return err
				}
				if c.json {
					return c.Print(map[string]any{"session": args[0], "exchanges": n})
				}
				c.Printf("forgot %d exchanges of %s\n", n, cli.FirstLine(args[0]))
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&owner, "owner", "", "whose session; default: your own")
	cmd.Flags().StringVar(&reason, "reason", "", "why; kept in the audit log")
	return cmd
}
