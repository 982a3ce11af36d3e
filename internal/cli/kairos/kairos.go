// Package kairos holds the commands of kairos: each is a call of the API's client and
// a printer.
package kairos

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/assemble"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
)

// Run runs the command-line companion and returns its exit code.
func Run(ctx context.Context, s cli.Streams, args []string) int { return Opening(nil)(ctx, s, args) }

// Opening is Run whose database is opened in another way.
func Opening(open assemble.Opening) func(context.Context, cli.Streams, []string) int {
	return func(ctx context.Context, s cli.Streams, args []string) int {
		return cli.Execute(ctx, (&program{Streams: s, opening: open}).root(), s, args, "kairos", exit.CodeFor)
	}
}

// Command is the tree of kairos's commands.
func Command(s cli.Streams) *cobra.Command { return (&program{Streams: s}).root() }

// root is the tree of kairos's commands.
func (c *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "kairos",
		Short: "Run plans durably, and look after them",
		Long: `kairos runs plans: graphs and step plans in YAML or JSON. Every run is stored
before it starts; after a crash it goes on where it was.

Commands work on a database file (--db, else $KAIROS_DB, else kairos.db in your
data directory), or on a daemon with --server and --token. When a daemon holds
the database file, kairos talks to it through the socket beside the file.

Exit codes: 0 done, 1 the run failed or was cancelled, 2 bad usage or an invalid
plan, 3 the run waits for a person, 4 the daemon or database cannot be used.`,
		Example:       "  kairos run --plan hello.yaml --prompt \"good morning\"\n  kairos validate plans/*.yaml\n  kairos runs --status failed",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	c.flags(root)
	root.AddGroup(groups...)
	run, plan, draft, runs := startCommands{c}, planCommands{c}, draftCommands{c}, runCommands{c}
	approval, failure, agent, session := approvalCommands{c}, failureCommands{c}, agentCommands{c}, sessionCommands{c}
	for _, g := range []struct {
		group    string
		commands []*cobra.Command
	}{
		{"run", []*cobra.Command{run.runCommand(), run.startCommand(), draft.askCommand(), run.tryCommand(), run.testCommand()}},
		{"plans", []*cobra.Command{checkCommands{c}.validateCommand(), plan.graphCommand(), plan.plansCommand(), draft.draftsCommand()}},
		{"look", []*cobra.Command{runs.runsCommand(), runs.showCommand(), runs.compareCommand(), runs.logsCommand(), failure.failuresCommand(),
			runs.stepsCommand(), runs.handoffsCommand(), viewCommands{c}.viewsCommand(), runs.noteCommand(), runs.exportCommand()}},
		{"act", []*cobra.Command{runs.verbCommand(domain.ActionResume), runs.verbCommand(domain.ActionRerun), runs.verbCommand(domain.ActionFork),
			runs.verbCommand(domain.ActionCancel), runs.verbCommand(domain.ActionPause), runs.verbCommand(domain.ActionContinue),
			runs.verbCommand(domain.ActionRetryNow), runs.verbCommand(domain.ActionStartNow), runs.verbCommand(domain.ActionRelease),
			runs.verbCommand(domain.ActionDelete), runs.limitsCommand(), runs.resolveCommand(), failure.ackCommand(), runs.labelCommand(),
			operationCommands{c}.bulkCommand()}},
		{"approvals", []*cobra.Command{approval.approvalsCommand(), approval.approveCommand(true), approval.approveCommand(false)}},
		{"installation", []*cobra.Command{agent.agentsCommand(), toolCommands{c}.toolsCommand(), agent.providersCommand(), session.memoryCommand(),
			session.forgetCommand(), auditCommands{c}.auditListCommand(), serverCommands{c}.systemCommand(), cli.VersionCommand(c.Streams)}},
	} {
		for _, cmd := range g.commands {
			cmd.GroupID = g.group
			root.AddCommand(cmd)
		}
	}
	cli.Versioned(root)
	c.confirmed(root)
	c.completed(root)
	return root
}

// groups are the parts of the list of commands.
var groups = []*cobra.Group{
	{ID: "run", Title: "Run plans:"}, {ID: "plans", Title: "Plans:"}, {ID: "look", Title: "Look at runs:"}, {ID: "act", Title: "Act on runs:"},
	{ID: "approvals", Title: "Approvals:"}, {ID: "installation", Title: "The installation:"},
}

// program is what all commands of kairos share.
type program struct {
	cli.Streams
	db     string
	memory bool
	server string
	token  string
	config string
	json   bool
	quiet  bool // no progress and no notes on stderr
	// opening opens the database file; nil: store.Open.
	opening assemble.Opening
	// told is the last row of a run's journal that whoever follows it knows of.
	told int64
}

// A group of commands is a type with what they share.
type (
	runCommands       struct{ *program }
	planCommands      struct{ *program }
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
	startCommands     struct{ *program }
	checkCommands     struct{ *program }
)

func (c *program) flags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&c.db, "db", "", "database file (default $KAIROS_DB, else kairos.db in the user's data directory)")
	f.StringVar(&c.server, "server", c.Env("KAIROS_SERVER"), "URL of a daemon, or unix:/path of its socket, instead of a database file")
	f.StringVar(&c.token, "token", "", "API token for --server (default $KAIROS_TOKEN)")
	f.StringVar(&c.config, "config", cmp.Or(c.Env("KAIROS_CONFIG"), c.DefaultConfig()), "configuration file for tools, agents and secrets (default $KAIROS_CONFIG, else kairos/kairos.yaml in the user's configuration directory)")
	cli.PlainDefaults(f, "config")
	f.BoolVar(&c.json, "json", false, "print one JSON object")
	f.BoolVarP(&c.quiet, "quiet", "q", false, "print no progress and no notes on stderr")
}

// database is the file that commands work on.
func (c *program) database() string {
	if c.db != "" {
		return c.db
	}
	if p := c.Env("KAIROS_DB"); p != "" {
		return p
	}
	return filepath.Join(c.DataDirectory(), "kairos.db")
}

// notef prints progress or a note on stderr, unless --quiet or --json is set.
func (c *program) notef(format string, args ...any) {
	if !c.quiet && !c.json {
		c.Errorf(format, args...)
	}
}
