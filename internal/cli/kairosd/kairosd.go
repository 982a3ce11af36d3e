package kairosd

import (
	"cmp"
	"context"

	"github.com/kairosd/kairosd/internal/assemble"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
)

// program holds what all commands of kairosd share.
type program struct {
	cli.Streams
	data   string
	config string
	json   bool
	quiet  bool // print no progress and no notes on stderr
	// opens the database for serve; nil: the default. Tests of the start set it.
	open assemble.Opening
}

// Run runs kairosd and returns its exit code.
func Run(ctx context.Context, s cli.Streams, args []string) int {
	return run(ctx, &program{Streams: s}, args)
}

// Opening is Run with another function that opens the database.
func Opening(open assemble.Opening) func(context.Context, cli.Streams, []string) int {
	return func(ctx context.Context, s cli.Streams, args []string) int {
		return run(ctx, &program{Streams: s, open: open}, args)
	}
}

// Command returns the tree of kairosd's commands.
func Command(s cli.Streams) *cobra.Command { return (&program{Streams: s}).root() }

func run(ctx context.Context, d *program, args []string) int {
	code := exit.CodeFor
	if len(args) > 0 && args[0] == "serve" {
		code = exit.SysexitFor
	}
	return cli.Execute(ctx, d.root(), d.Streams, args, "kairosd", code)
}

// root returns the tree of kairosd's commands.
func (d *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "kairosd",
		Short: "Run plans durably and serve the dashboard",
		Long: `kairosd stores plans, runs them durably, and serves a dashboard, an API, and the
documentation (/docs). All data is in one directory (--data).

Exit codes of serve, from sysexits: 64 usage, 65 damaged data, 69 unavailable,
70 internal error, 74 input or output, 75 another process uses the data,
77 permissions, 78 configuration.
Exit codes of the other commands: 0 success, 1 a check failed, 2 invalid usage,
4 the data cannot be used.`,
		Example:       "  kairosd serve --data /var/lib/kairos\n  kairosd token create --data /var/lib/kairos --role operator --name ci",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	f := root.PersistentFlags()
	f.StringVar(&d.data, "data", cmp.Or(d.Env("KAIROSD_DATA"), d.DataDirectory()),
		"data directory (default $KAIROSD_DATA, else kairos in your data directory)")
	f.StringVar(&d.config, "config", cmp.Or(d.Env("KAIROSD_CONFIG"), d.DefaultConfig()),
		"configuration file (default $KAIROSD_CONFIG, else kairos/kairos.yaml in your configuration directory)")
	cli.PlainDefaults(f, "data", "config")
	f.BoolVar(&d.json, "json", false, "print JSON")
	f.BoolVarP(&d.quiet, "quiet", "q", false, "print no progress and no notes")
	root.AddCommand(d.serveCommand(), d.migrateCommand(), d.userCommand(), d.tokenCommand(), d.auditCommand(), d.doctorCommand(),
		d.backupCommand(), d.restoreCommand(), d.retentionCommand(), d.maintenanceCommand(), d.demoCommand(), cli.VersionCommand(d.Streams),
		cli.CompletionCommand(d.Streams, "kairosd"))
	cli.Versioned(root)
	completer{d}.completed(root)
	return root
}

// confirm prompts on a terminal, unless --yes is set.
func (d *program) confirm(yes bool, question string) error {
	if yes || !d.Interactive {
		return nil
	}
	return d.Confirm(question)
}

func addYes(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVarP(yes, "yes", "y", false, "do not ask for confirmation")
}

// done prints the change that a command made: a line, or an object with --json.
func (d *program) done(object any, format string, args ...any) error {
	if d.json {
		return d.Print(object)
	}
	d.Printf(format+"\n", args...)
	return nil
}

func (d *program) dir() datadir.Dir { return datadir.Dir(d.data) }

// withStore opens the database for a maintenance command. Commands that only read work while a
// daemon runs.
func (d *program) withStore(ctx context.Context, readOnly bool, f func(*store.Store) error) error {
	return d.withOpened(ctx, recovery.Options{Options: store.Options{ReadOnly: readOnly}}, f)
}

// opened is the way to open the database.
func (d *program) opened() assemble.Opening {
	if d.open != nil {
		return d.open
	}
	return recovery.Open
}

func (d *program) withOpened(ctx context.Context, o recovery.Options, f func(*store.Store) error) error {
	if o.ReadOnly && !datadir.Exists(d.dir().Database()) {
		return domain.Errorf(domain.CodeUnavailable, "no database in %s", d.data).Suggest("pass its directory with --data")
	}
	s, err := d.opened()(ctx, d.dir().Database(), o)
	if err != nil {
		return err
	}
	err = f(s)
	if closeErr := s.Close(); err == nil {
		err = closeErr
	}
	return err
}
