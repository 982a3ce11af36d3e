package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/kairos"
)

// toolsCommand lists tools, and accepts those of MCP servers that have changed.
func (c *app) toolsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "tools", Short: "List tools", Args: cobra.NoArgs,
		Long: `Lists the tools that plans and agents may name: what a call may do (its effect),
whether it may be made (its permission), and for tools of MCP servers whether
they can be called now. A tool whose definition has changed since it was accepted
is refused until "kairos tools accept NAME".`,
		Example: "  kairos tools\n  kairos tools --json\n  kairos tools accept files.read",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(b backend) error {
				list, err := b.Tools(cmd.Context())
				if err != nil {
					return err
				}
				if c.json {
					return c.print(map[string]any{"items": list})
				}
				for _, t := range list {
					c.printf("%-24s %-10s %-6s %-12s %s\n", t.Name, t.Effect, t.Permission, t.State, firstLine(t.Description))
					if t.Reason != "" {
						c.printf("%24s %s\n", "", firstLine(t.Reason))
					}
					if t.Stop != nil {
						c.printf("%24s stopped since %s by %s %s\n", "", t.Stop.Since.Format(time.RFC3339), t.Stop.By, firstLine(t.Stop.Reason))
					}
					if t.Change != nil {
						c.printf("%24s now: %s\n", "", firstLine(t.Change.Offered.Description))
					}
				}
				return nil
			})
		},
	}
	var reason, digest string
	accept := &cobra.Command{
		Use: "accept NAME", Short: "Accept the definition that a tool has now", Args: cobra.ExactArgs(1),
		Long: `Takes the definition that an MCP server offers now for the accepted one, and
prints how it differs. Read it first, with --json in the list of tools or on the
dashboard: models act on it. With --digest, which both show, nothing but what was
read is accepted.`,
		Example: "  kairos tools accept files.read --reason \"new version of the server\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b backend) error {
				list, err := b.Tools(cmd.Context())
				if err != nil {
					return err
				}
				var change *kairos.ToolChange
				for _, t := range list {
					if t.Name == args[0] {
						change = t.Change
					}
				}
				if change != nil && digest == "" {
					digest = change.Digest // what is printed is what is accepted
				}
				if err := b.AcceptTool(cmd.Context(), c.actor(), args[0], digest, reason); err != nil {
					return err
				}
				if c.json {
					return c.print(map[string]any{"tool": args[0], "change": change})
				}
				c.printChange(args[0], change)
				return nil
			})
		},
	}
	accept.Flags().StringVar(&reason, "reason", "", "why; kept in the audit log")
	accept.Flags().StringVar(&digest, "digest", "", "accept only the definition with this digest")
	cmd.AddCommand(accept, c.toolServersCommand(), c.retryServerCommand())
	c.addStops(cmd, "tool", "http", backend.StopTool)
	return cmd
}

// addStops adds the two commands that stop the calls of something, and let them
// begin again.
func (c *app) addStops(to *cobra.Command, what, example string, stop func(backend, context.Context, kairos.Actor, string, bool, string) error) {
	add := func(use, short, long string, on bool) {
		var reason string
		cmd := &cobra.Command{
			Use: use + " NAME", Short: short, Args: cobra.ExactArgs(1), Long: long,
			Example: "  kairos " + to.Name() + " " + use + " " + example + " --reason \"maintenance until 6\"",
			RunE: func(cmd *cobra.Command, args []string) error {
				return c.with(cmd, func(b backend) error { return stop(b, cmd.Context(), c.actor(), args[0], on, reason) })
			},
		}
		cmd.Flags().StringVar(&reason, "reason", "", "why; kept in the audit log")
		to.AddCommand(cmd)
	}
	add("stop", "Let no call of a "+what+" begin any more", "Refuses every new call of a "+what+" until it is started again; what is under way goes on. A refused call\nmay be retried and fails its node otherwise; resuming the run makes it again. It outlasts restarts.", true)
	add("start", "Let a "+what+" be called again", "Ends what \"stop\" began.", false)
}

// toolServersCommand lists MCP servers.
func (c *app) toolServersCommand() *cobra.Command {
	return &cobra.Command{
		Use: "servers", Short: "List MCP servers", Args: cobra.NoArgs,
		Long: `Lists the MCP servers of the configuration: whether they run, and if not, why. A
server that ends is started again by itself, with growing waits; after five
restarts within ten minutes it is given up until "kairos tools retry NAME".`,
		Example: "  kairos tools servers\n  kairos tools servers --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(b backend) error {
				list, err := b.ToolServers(cmd.Context())
				if err != nil {
					return err
				}
				if c.json {
					return c.print(map[string]any{"items": list})
				}
				for _, s := range list {
					c.printf("%-16s %-12s %3d tools %3d restarts  %s\n", s.Name, s.State, s.Tools, s.Restarts, firstLine(s.Address))
					if s.Reason != "" {
						c.printf("%16s %s\n", "", firstLine(s.Reason))
					}
				}
				return nil
			})
		},
	}
}

// retryServerCommand starts an MCP server again (M16).
func (c *app) retryServerCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "retry SERVER", Short: "Start an MCP server again that was given up", Args: cobra.ExactArgs(1),
		Long:    "Starts an MCP server of the daemon again that ended too often, or waits for its restart. One that runs lists its tools again.",
		Example: "  kairos tools retry files --reason \"the disk is back\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b backend) error { return b.RetryToolServer(cmd.Context(), c.actor(), args[0], reason) })
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why; kept in the audit log")
	return cmd
}

// printChange says how a definition that was accepted differs from the one before.
func (c *app) printChange(name string, change *kairos.ToolChange) {
	if change == nil {
		return
	}
	c.printf("accepted %s (%.12s)\n", name, change.Digest)
	lines := func(d kairos.ToolDefinition) []string {
		schema, err := json.MarshalIndent(d.Schema, "", "  ")
		if err != nil {
			schema = []byte(err.Error())
		}
		return slices.Concat(strings.Split(d.Description, "\n"), []string{"effect: " + d.Effect}, strings.Split(string(schema), "\n"))
	}
	before, after := lines(change.Accepted), lines(change.Offered)
	for _, l := range before {
		if !slices.Contains(after, l) {
			c.printf("- %s\n", firstLine(l))
		}
	}
	for _, l := range after {
		if !slices.Contains(before, l) {
			c.printf("+ %s\n", firstLine(l))
		}
	}
}

// firstLine is a text of others in one line of a terminal.
func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || 0x80 <= r && r < 0xa0 {
			return -1
		}
		return r
	}, s)
}
