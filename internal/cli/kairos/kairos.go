// Package kairos holds the commands of kairos. Each one calls the client of the API and prints the
// result.
package kairos

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/assemble"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/budgets"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/cli/complete"
	"github.com/kairosd/kairosd/internal/cli/incoming"
	"github.com/kairosd/kairosd/internal/cli/mcp"
	"github.com/kairosd/kairosd/internal/exit"
)

// Run runs kairos and returns its exit code.
func Run(ctx context.Context, s cli.Streams, args []string) int { return Opening(nil)(ctx, s, args) }

// Opening is Run with another function that opens the database.
func Opening(open assemble.Opening) func(context.Context, cli.Streams, []string) int {
	return func(ctx context.Context, s cli.Streams, args []string) int {
		return cli.Execute(ctx, (&program{Program: command.Program{Streams: s, Opening: open}}).root(), s, args, "kairos", exit.CodeFor)
	}
}

// Command returns the tree of kairos's commands.
func Command(s cli.Streams) *cobra.Command {
	return (&program{Program: command.Program{Streams: s}}).root()
}

// root returns the tree of kairos's commands.
func (c *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "kairos",
		Short: "Run plans durably and operate their runs",
		Long: `kairos runs plans: workflows in YAML or JSON. It stores every run before the run
starts. After a crash, the run continues where it stopped.

Commands work on a database file (--db, else $KAIROS_DB, else kairos.db in your
data directory), or on a server with --server and --token. If kairosd serve has the
database open, kairos uses the socket next to the file.

Documentation: /docs of a server, or docs/index.md in the repository.

Exit codes: 0 success, 1 the run failed or was cancelled, 2 invalid usage or an invalid
plan, 3 the run waits for a person, 4 the server or the database is unavailable.`,
		Example:       "  kairos run hello.yaml --prompt \"good morning\"\n  kairos status\n  kairos runs --status failed",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.RunE = func(cmd *cobra.Command, _ []string) error { return c.overview(cmd) }
	root.PersistentPreRun = c.Remember
	c.Flags(root)
	root.AddGroup(&cobra.Group{ID: "verbs", Title: "Commands:"},
		&cobra.Group{ID: "groups", Title: "Groups (without a subcommand, each prints a list):"},
		&cobra.Group{ID: "short", Title: "Short forms:"})
	run, draft, runs, approval, agent := startCommands{c}, draftCommands{c}, runCommands{c}, approvalCommands{c}, agentCommands{c}
	for _, g := range []struct {
		group    string
		commands []*cobra.Command
	}{
		{"verbs", []*cobra.Command{run.runCommand(), draft.askCommand(), checkCommands{c}.validateCommand(),
			checkCommands{c}.schemaCommand(),
			statusCommands{c}.statusCommand(), spendCommands{c}.command(),
			mcp.Command(c.Streams, c.With), cli.VersionCommand(c.Streams)}},
		{"groups", []*cobra.Command{runs.group(), planCommands{c}.group(), incoming.Schedules(&c.Program),
			incoming.Signals(&c.Program), incoming.Hooks(&c.Program), budgets.Commands(&c.Program), draft.group(),
			approval.group(), failureCommands{c}.group(),
			operationCommands{c}.group(), toolCommands{c}.group(), agent.group(), agent.providerGroup(), sessionCommands{c}.group(),
			viewCommands{c}.group(), auditCommands{c}.group(), serverCommands{c}.group()}},
		{"short", []*cobra.Command{runs.showCommand(), runs.logsCommand(), runs.resumeCommand(), runs.rerunCommand(), runs.forkCommand(),
			runs.cancelCommand(), approval.approveCommand(true), approval.approveCommand(false)}},
	} {
		for _, cmd := range g.commands {
			cmd.GroupID, cmd.SuggestFor = g.group, guesses[cmd.Name()]
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(cli.CompletionCommand(c.Streams, "kairos"))
	cli.Versioned(root)
	c.confirmed(root)
	complete.Completer{Connect: c.ConnectQuietly, Words: flagWords}.Add(root)
	return root
}

// overview prints the text of kairos without arguments.
func (c *program) overview(root *cobra.Command) error {
	c.Printf("%s.\n\n", root.Short)
	names := map[string][]string{}
	for _, cmd := range root.Commands() {
		if cmd.GroupID == "verbs" {
			c.Printf("  kairos %-10s %s\n", cmd.Name(), cmd.Short)
		}
		names[cmd.GroupID] = append(names[cmd.GroupID], cmd.Name())
	}
	c.Printf("\nGroups: %s.\nShort forms: %s.\n\n", strings.Join(names["groups"], ", "), strings.Join(names["short"], ", "))
	c.Printf("Try:\n%s\n\nkairos --help lists all commands and flags. kairos COMMAND --help explains a command.\n"+
		"Documentation: /docs of a server, or docs/index.md in the repository.\n", root.Example)
	return nil
}

// program holds what the commands of this package share.
type program struct {
	command.Program
	mocked bool // the run is in a temporary database, and results come from a file
	// seen is the last printed row of the journal.
	seen int64
}

// A group of commands is a type with its shared fields.
type (
	runCommands       struct{ *program }
	planCommands      struct{ *program }
	noteCommands      struct{ *program }
	draftCommands     struct{ *program }
	approvalCommands  struct{ *program }
	failureCommands   struct{ *program }
	operationCommands struct{ *program }
	toolCommands      struct{ *program }
	agentCommands     struct{ *program }
	sessionCommands   struct{ *program }
	viewCommands      struct{ *program }
	auditCommands     struct{ *program }
	serverCommands    struct{ *program }
	statusCommands    struct{ *program }
	startCommands     struct{ *program }
	checkCommands     struct{ *program }
	spendCommands     struct{ *program }
)
