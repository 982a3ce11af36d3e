package kairos

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
)

func (c sessionCommands) group() *cobra.Command {
	return command.Group("sessions", "Show and clear session memory", c.listCommand, c.showCommand(), c.clearCommand())
}

func (c sessionCommands) listCommand() *cobra.Command {
	var owner string
	cmd := &cobra.Command{
		Use: "list", Short: "List sessions with memory", Args: cobra.NoArgs,
		Long: `Lists your sessions that have a memory. The flag --session of "kairos run" names the
session of a run. Its agents get the earlier exchanges of the session. Only an admin can
list the sessions of others.`,
		Example: "  kairos sessions\n  kairos sessions --owner ana --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.With(cmd, func(b *client.Client) error { return c.listSessions(cmd, b, owner) })
		},
	}
	cmd.Flags().StringVar(&owner, "owner", "", "owner of the sessions (default: you)")
	return cmd
}

func (c sessionCommands) showCommand() *cobra.Command {
	var owner string
	cmd := &cobra.Command{
		Use: "show SESSION", Short: "Show session memory", Args: cobra.ExactArgs(1),
		Long: `Prints the memory of a session, newest first. Only an admin can read the sessions of
others.`,
		Example: "  kairos sessions show customer-7\n  kairos sessions show customer-7 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				list, err := b.Memories(cmd.Context(), owner, args[0], domain.Page{Limit: 200})
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Items(append([]domain.Memory{}, list.Items...), list.Next)
				}
				if len(list.Items) == 0 {
					c.Errorf("session %s has no memory\n", cli.FirstLine(args[0]))
				}
				for _, m := range list.Items {
					c.Printf(
						"%s  %s\n  asked:    %s\n  answered: %s\n",
						m.At.Format(time.RFC3339),
						m.Run,
						cli.FirstLine(m.Input),
						cli.FirstLine(m.Output),
					)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&owner, "owner", "", "owner of the session (default: you)")
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
	rows := [][]string{}
	for _, s := range all {
		rows = append(rows, []string{s.Session, strconv.FormatInt(int64(s.Exchanges), 10), cli.Stamp(s.LastAt)})
	}
	return c.ListOf(append([]domain.MemorySession{}, all...), "", []string{"SESSION", "EXCHANGES", "LAST USED"}, rows,
		"no sessions with memory")
}

func (c sessionCommands) clearCommand() *cobra.Command {
	var owner, reason string
	cmd := &cobra.Command{
		Use: "clear SESSION", Short: "Clear a session's memory", Args: cobra.ExactArgs(1),
		Long: `Deletes the memory of a session. Agents of later runs no longer get it. The journals
of its runs stay until retention removes them. Only an admin can clear the sessions of
others. On a terminal, it requires a confirmation.`,
		Example: "  kairos sessions clear customer-7 --reason \"requested by the customer\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				n, err := b.Forget(cmd.Context(), owner, args[0], reason)
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(map[string]any{"session": args[0], "exchanges": n})
				}
				if n == 0 {
					c.Errorf("session %s has no memory\n", cli.FirstLine(args[0]))
					return nil
				}
				c.Printf("cleared %d exchanges of %s\n", n, cli.FirstLine(args[0]))
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&owner, "owner", "", "owner of the session (default: you)")
	cmd.Flags().StringVar(&reason, "reason", "", "reason, for the audit log")
	return cmd
}
