package incoming

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
)

type signalCommands struct{ *command.Program }

// Signals returns the commands of signals.
func Signals(p *command.Program) *cobra.Command {
	c := signalCommands{p}
	return command.Group("signals", "Manage signals", c.listCommand, c.sendCommand(), c.showCommand())
}

func (c signalCommands) listCommand() *cobra.Command {
	var l command.ListFlags
	f, status := domain.SignalFilter{}, ""
	cmd := &cobra.Command{
		Use: "list", Short: "List signals", Args: cobra.NoArgs,
		Long: `Lists signals, newest first. A waiting signal is kept until a step waits for it. An
unmatched one expired before that.`,
		Example: "  kairos signals\n  kairos signals --filter paid --status unmatched",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.Page, f.Status = l.Page(), domain.SignalStatus(status)
			return c.With(cmd, func(b *client.Client) error {
				list, next, err := b.Signals(cmd.Context(), f)
				if err != nil {
					return err
				}
				rows := [][]string{}
				for _, s := range list {
					rows = append(rows, []string{domain.ShortID(s.ID), s.Name, s.Key, string(s.Status), signalRuns(s), s.Actor,
						cli.Stamp(s.CreatedAt)})
				}
				return c.ListOf(append([]apitypes.Signal{}, list...), next, []string{"ID", "SIGNAL", "KEY", "STATUS", "RUN", "ACTOR",
					"SENT"}, rows, "no signals found")
			})
		},
	}
	l.Add(cmd)
	cmd.Flags().StringVar(&f.Text, "filter", "", "part of the name")
	cmd.Flags().StringVar(&status, "status", "", "waiting, matched, or unmatched")
	return cmd
}

// signalRuns lists the runs whose waits a signal ended.
func signalRuns(s apitypes.Signal) string {
	runs := make([]string, len(s.Matches))
	for i, m := range s.Matches {
		runs[i] = domain.ShortID(m.Run)
	}
	return cli.Clip(strings.Join(runs, " "), 40)
}

func (c signalCommands) showCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show SIGNAL", Short: "Show a signal", Args: cobra.ExactArgs(1),
		Long:    "Shows a signal with its data, and the steps whose waits it ended.",
		Example: "  kairos signals show 0198c0f2-7a3e-7c1d-9b1a-5e2d4c6f8a01",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				s, err := b.Signal(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(s)
				}
				c.Facts("signal "+s.Name, [][2]string{{"id", s.ID}, {"key", s.Key}, {"status", string(s.Status)},
					{"data", command.ValueLine(s.Data)}, {"source", s.Source}, {"actor", s.Actor}, {"sent", cli.Stamp(s.CreatedAt)},
					{"expires", cli.Stamp(s.ExpiresAt)}})
				rows := [][]string{}
				for _, m := range s.Matches {
					rows = append(rows, []string{domain.ShortID(m.Run), m.Node, cli.Stamp(m.At)})
				}
				c.Table([]string{"RUN", "STEP", "ENDED"}, rows)
				return nil
			})
		},
	}
}

func (c signalCommands) sendCommand() *cobra.Command {
	s, data, all := apitypes.SignalCreate{}, "", false
	cmd := &cobra.Command{
		Use: "send NAME", Short: "Send a signal", Args: cobra.ExactArgs(1),
		Long: `Sends a signal to the step that has waited for it the longest, or with --all to all of
them. If no step waits for it, the signal is kept for --keep. Then it ends the first wait
that begins.`,
		Example: "  kairos signals send paid.42 --data '{\"amount\": 12}'\n  kairos signals send market-closed --all --keep 1h",
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Name = args[0]
			if all {
				s.Deliver = "all"
			}
			if cmd.Flags().Changed("data") {
				var err error
				if s.Data, err = c.JSONArgument("--data", data); err != nil {
					return err
				}
			}
			return c.With(cmd, func(b *client.Client) error {
				out, err := b.SendSignal(cmd.Context(), s)
				if err != nil {
					return err
				}
				if len(out.Matches) == 0 {
					return c.Done(out, "signal %s sent; no run waits for it yet, and it is kept until %s", out.Name,
						cli.Stamp(out.ExpiresAt))
				}
				return c.Done(out, "signal %s sent; it ended the wait of run %s", out.Name, signalRuns(out))
			})
		},
	}
	cmd.Flags().StringVar(&s.Key, "key", "", "key that steps wait for with the name")
	cmd.Flags().StringVar(&data, "data", "", "data as JSON, or @FILE")
	cmd.Flags().BoolVar(&all, "all", false, "end all waits, not one")
	cmd.Flags().StringVar(&s.Keep, "keep", "", "how long to keep it for a wait (default 24h)")
	return cmd
}
