package kairos

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
)

// circuitNote describes the state of a circuit on one line.
func circuitNote(c domain.Circuit) string {
	var b strings.Builder
	if c.Part != "" {
		b.WriteString(cli.FirstLine(c.Part) + ": ")
	}
	switch c.State {
	case domain.CircuitOpen:
		fmt.Fprintf(&b, "not called until %s: ", cli.Stamp(c.OpenUntil))
	case domain.CircuitHalfOpen:
		b.WriteString("the next call is a test: ")
	}
	if c.FailuresInRow == 1 {
		b.WriteString("the last call failed")
	} else {
		fmt.Fprintf(&b, "the last %d calls failed", c.FailuresInRow)
	}
	if c.LastError != "" {
		fmt.Fprintf(&b, ", last %s: %s", cli.Stamp(c.LastErrorAt), cli.FirstLine(c.LastError))
	}
	return b.String()
}

// breakerNote describes when a circuit opens.
func breakerNote(b domain.Breaker) string {
	of := ""
	if b.PerHost {
		of = ", each host separately"
	}
	if b.Failures < 0 {
		return "does not open automatically" + of
	}
	return fmt.Sprintf("opens after %d failures in a row, first for %s%s", b.Failures, b.Cooldown, of)
}

// addSwitches adds the commands that disable and enable a tool or a provider.
func (c *program) addSwitches(
	to *cobra.Command, what, example string,
	disable func(b *client.Client, ctx context.Context, name, reason string) error,
	enable func(b *client.Client, ctx context.Context, name, host, reason string) error,
) {
	var reason string
	off := &cobra.Command{
		Use: "disable NAME", Short: "Disable a " + what, Args: cobra.ExactArgs(1),
		Long: "Rejects new calls of a " + what + " until it is enabled, also after a restart. Active calls\n" +
			"continue. A rejected call fails its step, unless the step has retries. To repeat the call,\nresume the run.",
		Example: "  kairos " + to.Name() + " disable " + example + " --reason \"maintenance until 06:00\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				if err := disable(b, cmd.Context(), args[0], reason); err != nil {
					return err
				}
				return c.Done(map[string]any{what: args[0], "disabled": true}, "%s %s is disabled", what, args[0])
			})
		},
	}
	off.Flags().StringVar(&reason, "reason", "", "reason, for the audit log (required)")
	use, most, long := "enable NAME", 1, "Allows calls of a "+what+" that is disabled, closes its circuit, and resets its failures."
	if what == "tool" {
		use, most = "enable NAME [HOST]", 2
		long += "\nA tool that calls hosts, such as http, has a circuit for each host. With HOST, or HOST:PORT for\nother " +
			"ports than 443, only that circuit is closed."
	}
	var why string
	on := &cobra.Command{
		Use: use, Short: "Enable a " + what + " and close its circuit", Args: cobra.RangeArgs(1, most), Long: long,
		Example: "  kairos " + to.Name() + " enable " + example + " --reason \"it works again\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			host := ""
			if len(args) > 1 {
				host = args[1]
			}
			return c.With(cmd, func(b *client.Client) error {
				if err := enable(b, cmd.Context(), args[0], host, why); err != nil {
					return err
				}
				return c.Done(map[string]any{what: args[0], "disabled": false}, "%s %s is enabled", what, args[0])
			})
		},
	}
	on.Flags().StringVar(&why, "reason", "", "reason, for the audit log")
	to.AddCommand(off, on)
}

// disabledNote returns since when, by whom, and why something is disabled.
func disabledNote(by domain.Disablement) string {
	return strings.TrimSuffix(fmt.Sprintf("disabled since %s by %s: %s", cli.Stamp(by.Since), by.By, cli.FirstLine(by.Reason)), ": ")
}
