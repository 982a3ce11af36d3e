package cli

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store"
)

// daemon is what all commands of kairosd share.
type daemon struct {
	Streams
	data   string
	config string
	json   bool
	// open opens the database for serve; nil: as always. Proofs of the start have
	// one of their own.
	open opening
}

// opening opens a database.
type opening func(context.Context, string, store.Options) (*store.Store, error)

func (d *daemon) opening() opening {
	if d.open != nil {
		return d.open
	}
	return store.Open
}

// Kairosd runs the daemon or one of its maintenance commands and returns the
// exit code.
func Kairosd(ctx context.Context, s Streams, args []string) int {
	return kairosd(ctx, &daemon{Streams: s}, args)
}

func kairosd(ctx context.Context, d *daemon, args []string) int {
	code := codeFor
	if len(args) > 0 && args[0] == "serve" {
		code = sysexitFor
	}
	return execute(ctx, d.root(), d.Streams, args, "kairosd", code)
}

// root is the tree of kairosd's commands.
func (d *daemon) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "kairosd",
		Short: "Store plans, run them durably, serve the dashboard",
		Long: `kairosd stores plans and runs them durably on an embedded database, and serves a
dashboard and an API to operators. Everything it keeps is in one directory (--data).

serve exits with sysexits codes: 64 usage, 65 damaged data, 69 unavailable,
70 internal, 74 input or output, 75 another process holds the data, 77 permissions,
78 configuration.
The other commands exit with 0, 2 for bad usage and 4 when the data cannot be used.`,
		Example:       "  kairosd serve --data /var/lib/kairos\n  kairosd token create --data /var/lib/kairos --role operator --name ci",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	f := root.PersistentFlags()
	f.StringVar(&d.data, "data", orDefault(d.Env("KAIROSD_DATA"), "data"), "directory for everything that is kept")
	f.StringVar(&d.config, "config", d.Env("KAIROSD_CONFIG"), "configuration file")
	f.BoolVar(&d.json, "json", false, "print JSON")
	root.AddCommand(d.serveCommand(), d.migrateCommand(), d.userCommand(), d.tokenCommand(), d.auditCommand(), d.doctorCommand(), d.backupCommand(), d.restoreCommand(), d.retentionCommand(), d.maintenanceCommand(), versionCommand(d.Streams))
	return root
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func (d *daemon) database() string { return filepath.Join(d.data, "kairos.db") }

// withStore opens the database for a maintenance command. Reading commands work
// beside a running daemon.
func (d *daemon) withStore(ctx context.Context, readOnly bool, f func(*store.Store) error) error {
	return d.withOpened(ctx, store.Options{ReadOnly: readOnly}, f)
}

func (d *daemon) withOpened(ctx context.Context, o store.Options, f func(*store.Store) error) error {
	if o.ReadOnly && !exists(d.database()) {
		return kairos.Errorf(kairos.CodeUnavailable, "there is no database in %s", d.data).Suggest("say where it is with --data")
	}
	s, err := d.opening()(ctx, d.database(), o)
	if err != nil {
		return err
	}
	err = f(s)
	if closeErr := s.Close(); err == nil {
		err = closeErr
	}
	return err
}
