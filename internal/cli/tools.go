package cli

import (
	"strings"

	"github.com/spf13/cobra"
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
					if t.Offered != "" {
						c.printf("%24s now: %s\n", "", firstLine(t.Offered))
					}
				}
				return nil
			})
		},
	}
	var reason string
	accept := &cobra.Command{
		Use: "accept NAME", Short: "Accept the definition that a tool has now", Args: cobra.ExactArgs(1),
		Long:    "Takes the definition that an MCP server offers now for the accepted one. Read it first: models act on it.",
		Example: "  kairos tools accept files.read --reason \"new version of the server\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b backend) error { return b.AcceptTool(cmd.Context(), c.actor(), args[0], reason) })
		},
	}
	accept.Flags().StringVar(&reason, "reason", "", "why; kept in the audit log")
	cmd.AddCommand(accept)
	return cmd
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
