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

// circuitNote is where a circuit stands, on one line.
func circuitNote(c domain.Circuit) string {
	var b strings.Builder
	if c.Part != "" {
		b.WriteString(cli.FirstLine(c.Part) + ": ")
	}
	switch c.State {
	case domain.CircuitOpen:
		fmt.Fprintf(&b, "not called until %s: ", cli.Stamp(c.OpenUntil))
	case domain.CircuitHalfOpen:
		b.WriteString("the next call is a trial: ")
	}
	switch {
	case c.By != "":
		fmt.Fprintf(&b, "%s has opened the circuit %s", c.By, cli.Stamp(c.Since))
		if c.Reason != "" {
			b.WriteString(" (" + cli.FirstLine(c.Reason) + ")")
		}
	case c.FailuresInRow == 1:
		b.WriteString("the last call has failed")
	default:
		fmt.Fprintf(&b, "%d calls in a row have failed", c.FailuresInRow)
	}
	if c.LastError != "" {
		fmt.Fprintf(&b, ", last %s: %s", cli.Stamp(c.LastErrorAt), cli.FirstLine(c.LastError))
	}
	return b.String()
}

// breakerNote is when a circuit opens.
func breakerNote(b domain.Breaker) string {
	of := ""
	if b.PerHost {
		of = ", each host by itself"
	}
	if b.Failures < 0 {
		return "does not open by itself" + of
	}
	return fmt.Sprintf("opens after %d failures in a row, for %s at first%s", b.Failures, b.Rest, of)
}

// addCircuits adds the two commands that open and close the circuit of something.
func (c *program) addCircuits(to *cobra.Command, what, example string, change func(*client.Client, context.Context, string, domain.CircuitChange) error) {
	use, max, host := "NAME", 1, ""
	if what == "tool" {
		use, max = "NAME [HOST]", 2
		host = "\nA tool that calls hosts, like http, has a circuit for each: HOST says which, with its port\nunless that is the one of https."
	}
	add := func(verb, short, long string, open bool) {
		var ch domain.CircuitChange
		cmd := &cobra.Command{
			Use: verb + " " + use, Short: short, Args: cobra.RangeArgs(1, max), Long: long + host,
			Example: "  kairos " + to.Name() + " " + verb + " " + example + " --reason \"they have repaired it\"",
			RunE: func(cmd *cobra.Command, args []string) error {
				ch.Open = open
				if len(args) > 1 {
					ch.Part = args[1]
				}
				return c.with(cmd, func(b *client.Client) error { return change(b, cmd.Context(), args[0], ch) })
			},
		}
		cmd.Flags().StringVar(&ch.Reason, "reason", "", "why; kept in the audit log")
		if open {
			cmd.Example = "  kairos " + to.Name() + " " + verb + " " + example + " --for 1h --reason \"maintenance until 6\""
			cmd.Flags().DurationVar(&ch.For, "for", domain.CircuitFor, fmt.Sprintf("how long, at most %s", domain.MaxCircuitFor))
		}
		to.AddCommand(cmd)
	}
	add("open", "Open the circuit of a "+what+": its calls are refused for a time", "Refuses every new call for a time, then one is tried; what is under way goes on. A refused call may be\nretried, which waits until then, and fails its node otherwise. It outlasts restarts. To refuse calls\nuntil somebody allows them again, use \"stop\".", true)
	add("close", "Close the circuit of a "+what+": its calls are made again", "Lets calls be made at once, and forgets the failures that opened the circuit or the person who did.", false)
}
