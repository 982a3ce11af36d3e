package kairos

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

func (c toolCommands) group() *cobra.Command {
	cmd := command.Group("tools", "List, call, and manage tools", c.listCommand, c.toolShow(), c.toolCall(),
		c.toolAccept(), c.toolServersCommand(),
		c.retryServerCommand())
	c.addSwitches(cmd, "tool", "http", (*client.Client).DisableTool, (*client.Client).EnableTool)
	return cmd
}

func (c toolCommands) listCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List tools", Args: cobra.NoArgs,
		Long: `Lists the tools that plans and agents can use, with the side-effect class and the
permission of each. If the definition of a tool of an MCP server changes, calls are
rejected until "kairos tools accept TOOL".`,
		Example: "  kairos tools\n  kairos tools --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.With(cmd, func(b *client.Client) error {
				list, err := b.Tools(cmd.Context())
				if err != nil {
					return err
				}
				rows := [][]string{}
				for _, t := range list {
					about := t.Description
					if notes := toolNotes(t); len(notes) > 0 {
						about = strings.Join(notes, "; ")
					}
					rows = append(rows, []string{t.Name, t.Effect, t.Permission, t.State, calls(t.Activity), about})
				}
				return c.ListOf(list, "", []string{"TOOL", "SIDE EFFECTS", "PERMISSION", "STATUS", "CALLS", "DESCRIPTION"}, rows,
					"no tools")
			})
		},
	}
}

func (c toolCommands) toolAccept() *cobra.Command {
	var reason, digest string
	cmd := &cobra.Command{
		Use: "accept TOOL", Short: "Accept the changed definition of a tool", Args: cobra.ExactArgs(1),
		Long: `Accepts the current definition of a tool of an MCP server, and prints the changes. Read
the definition first with "kairos tools show TOOL" or on the dashboard, because models
follow it. With --digest, only the definition with that digest is accepted.`,
		Example: "  kairos tools accept files.read --reason \"new version of the server\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				list, err := b.Tools(cmd.Context())
				if err != nil {
					return err
				}
				var change *domain.ToolChange
				for _, t := range list {
					if t.Name == args[0] {
						change = t.Change
					}
				}
				if change != nil && digest == "" {
					digest = change.Digest // exactly the printed definition is accepted
				}
				if err := b.AcceptTool(cmd.Context(), args[0], digest, reason); err != nil {
					return err
				}
				if c.JSON {
					return c.Print(map[string]any{"tool": args[0], "change": change})
				}
				c.printChange(args[0], change)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason, for the audit log")
	cmd.Flags().StringVar(&digest, "digest", "", "accept only the definition with this digest")
	return cmd
}

// toolNotes describes a tool's special states.
func toolNotes(t domain.ToolInfo) (notes []string) {
	if t.Disabled != nil {
		notes = append(notes, disabledNote(*t.Disabled))
	}
	for _, k := range t.Disturbed() {
		notes = append(notes, circuitNote(k))
	}
	if t.Reason != "" {
		notes = append(notes, cli.FirstLine(t.Reason))
	}
	if t.Change != nil {
		notes = append(notes, "new definition: "+cli.FirstLine(t.Change.Offered.Description))
	}
	return notes
}

func findTool(cmd *cobra.Command, b *client.Client, name string) (domain.ToolInfo, error) {
	list, err := b.Tools(cmd.Context())
	if err != nil {
		return domain.ToolInfo{}, err
	}
	return command.Named(list, name, "tool", "kairos tools", func(t domain.ToolInfo) string { return t.Name })
}

func (c toolCommands) toolShow() *cobra.Command {
	return &cobra.Command{
		Use: "show TOOL", Short: "Show a tool", Args: cobra.ExactArgs(1),
		Long: `Prints the source of a tool, its side-effect class, the schema of its arguments, and
statistics of its calls in the last 24 hours.`,
		Example: "  kairos tools show http",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				t, err := findTool(cmd, b, args[0])
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(t)
				}
				c.Facts("tool "+t.Name, append(toolFacts(t), activity(t.Activity)...))
				if len(t.Schema) > 0 {
					schema, err := json.Marshal(t.Schema)
					if err != nil {
						return fmt.Errorf("encode the schema: %w", err)
					}
					c.Printf("arguments: %s\n", command.IndentJSON(schema, ""))
				}
				return nil
			})
		},
	}
}

func toolFacts(t domain.ToolInfo) [][2]string {
	facts := [][2]string{{"description", t.Description}, {"source", t.Source}, {"side effects", t.Effect},
		{"permission", t.Permission}, {"status", t.State}}
	if t.Breaker != nil {
		facts = append(facts, [2]string{"circuit", breakerNote(*t.Breaker)})
	}
	for _, n := range toolNotes(t) {
		facts = append(facts, [2]string{"note", n})
	}
	return facts
}

// toolCall calls a tool manually, as a run with a journal and with the usual permissions.
func (c toolCommands) toolCall() *cobra.Command {
	var input string
	var dry, offline bool
	cmd := &cobra.Command{
		Use: "call TOOL --input JSON", Short: "Call a tool", Args: cobra.ExactArgs(1),
		Long: `Calls a tool with the arguments of --input, and prints its result. The call is a run
with one step: it has a journal, and approvals and permissions apply. With --dry-run,
a call that computes or reads is made, so an HTTP GET is sent. Other calls are printed.`,
		Example: "  kairos tools call calculator --input '{\"expression\": \"6*7\"}'\n" +
			"  kairos tools call http --input @request.json --dry-run",
		RunE: func(cmd *cobra.Command, args []string) error {
			value, err := c.Input(cmd, "", input)
			if err != nil {
				return err
			}
			return c.With(cmd, func(b *client.Client) error {
				t, err := findTool(cmd, b, args[0])
				if err != nil {
					return err
				}
				v, err := c.callPlan(cmd.Context(), b, t.Name)
				if err != nil {
					return err
				}
				r, err := b.Start(cmd.Context(), domain.StartRequest{Plan: v.PlanID, Hash: v.Hash, Input: value, Origin: "cli", Dry: dry,
					Offline: offline, Labels: map[string]string{"try": "tool"}})
				if err != nil {
					return err
				}
				return c.follow(cmd.Context(), b, r)
			})
		},
	}
	cmd.Flags().StringVar(&input, "input", "", "arguments as JSON, or @FILE")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "make only calls that compute or read, such as an HTTP GET")
	cmd.Flags().BoolVar(&offline, "offline", false, "a dry run that sends nothing")
	return cmd
}

// callPlan stores a plan that calls a tool with the input of the run.
func (c toolCommands) callPlan(ctx context.Context, b *client.Client, tool string) (domain.Version, error) {
	src, err := domain.CallPlan(tool)
	if err != nil {
		return domain.Version{}, err
	}
	_, v, _, problems, err := b.SavePlan(ctx, src, planner.FormatJSON, "try", "called by kairos tools call")
	if err != nil {
		err = c.invalid(tool, problems, err)
	}
	return v, err
}

// toolServersCommand lists MCP servers.
func (c toolCommands) toolServersCommand() *cobra.Command {
	return &cobra.Command{
		Use: "servers", Short: "List MCP servers", Args: cobra.NoArgs,
		Long: `Lists the MCP servers of the configuration and their status. kairosd restarts a server
that ends, with growing delays. After five restarts within ten minutes it disables the
server until "kairos tools retry SERVER".`,
		Example: "  kairos tools servers\n  kairos tools servers --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.With(cmd, func(b *client.Client) error {
				list, err := b.ToolServers(cmd.Context())
				if err != nil {
					return err
				}
				rows := [][]string{}
				for _, s := range list {
					rows = append(rows, []string{s.Name, s.State, strconv.Itoa(s.Tools), strconv.Itoa(s.Restarts), s.Address, s.Reason})
				}
				return c.ListOf(append([]domain.ToolServer{}, list...), "",
					[]string{"SERVER", "STATUS", "TOOLS", "RESTARTS", "ADDRESS", "REASON"}, rows, "no MCP servers are configured")
			})
		},
	}
}

func (c toolCommands) retryServerCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "retry SERVER", Short: "Restart a disabled MCP server", Args: cobra.ExactArgs(1),
		Long: `Restarts an MCP server that is disabled, or that waits for its restart. If the server
runs, kairosd lists its tools again.`,
		Example: "  kairos tools retry files --reason \"the disk is back\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				if err := b.RetryToolServer(cmd.Context(), args[0], reason); err != nil {
					return err
				}
				return c.Done(map[string]any{"server": args[0]}, "MCP server %s restarts; see: %s", args[0], c.Command("tools servers"))
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason, for the audit log")
	return cmd
}

// printChange prints how an accepted definition differs from the earlier one.
func (c toolCommands) printChange(name string, change *domain.ToolChange) {
	if change == nil {
		c.Printf("%s is unchanged\n", name)
		return
	}
	c.Printf("accepted %s (%.12s)\n", name, change.Digest)
	lines := func(d domain.ToolDefinition) []string {
		schema, err := json.MarshalIndent(d.Schema, "", "  ")
		if err != nil {
			schema = []byte(err.Error())
		}
		return slices.Concat(strings.Split(d.Description, "\n"), []string{"effect: " + d.Effect}, strings.Split(string(schema), "\n"))
	}
	before, after := lines(change.Accepted), lines(change.Offered)
	for _, l := range before {
		if !slices.Contains(after, l) {
			c.Printf("- %s\n", cli.FirstLine(l))
		}
	}
	for _, l := range after {
		if !slices.Contains(before, l) {
			c.Printf("+ %s\n", cli.FirstLine(l))
		}
	}
}
