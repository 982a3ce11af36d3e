package kairosd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
)

func (d *program) migrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "migrate", Short: "Show or apply database migrations", Args: cobra.NoArgs,
		Long: `Shows the migrations of the database. kairosd serve applies missing migrations. To apply
them before, use kairosd migrate up. A newer database is not changed.`,
		Example: "  kairosd migrate --data /var/lib/kairos\n  kairosd migrate up --data /var/lib/kairos",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.withStore(cmd.Context(), true, func(s *store.Store) error { return d.migrations(cmd, s) })
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use: "up", Short: "Apply missing migrations", Args: cobra.NoArgs,
		Long: `Applies every missing migration. The previous database stays in pre-schema-N-TIME in
the data directory. That copy is encrypted if the configuration has recipients of
backups or, without --config, if the configuration of the server had them.`,
		Example: "  kairosd migrate up --data /var/lib/kairos --config /etc/kairos/kairos.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load(d.config)
			if err != nil {
				return err
			}
			var o recovery.Options
			if d.config != "" {
				o.Recipients = append([]string{}, cfg.Backup.Recipients...)
			}
			return d.withOpened(cmd.Context(), o, func(s *store.Store) error { return d.migrations(cmd, s) })
		},
	})
	return cmd
}

func (d *program) migrations(cmd *cobra.Command, s *store.Store) error {
	list, err := s.Migrations(cmd.Context())
	if err != nil {
		return err
	}
	if d.json {
		return d.Print(map[string]any{"migrations": list})
	}
	rows := [][]string{}
	for _, m := range list {
		state := "missing"
		if m.Applied {
			state = "applied"
		}
		rows = append(rows, []string{fmt.Sprintf("%05d", m.Version), state, m.Name})
	}
	d.Table([]string{"MIGRATION", "STATUS", "NAME"}, rows)
	return nil
}

func (d *program) auditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "audit", Short: "Check the audit log", Args: cobra.NoArgs,
		Long:    "The audit log contains every action of people and of the engine. Its chain detects changes.",
		Example: "  kairosd audit verify --data /var/lib/kairos",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return exit.Usage("missing subcommand\n  use verify, export, public-key, verify-export, or new-key")
		},
	}
	cmd.AddCommand(d.auditExportCommand(), d.newKeyCommand(), d.publicKeyCommand(), d.verifyExportCommand(), &cobra.Command{
		Use: "verify", Short: "Check the whole audit log", Args: cobra.NoArgs,
		Long: `Reads the whole audit log and checks its numbering, its chain, and the anchor next to the
database. kairosd serve may be running or stopped. Exit code 1: the check failed.`,
		Example: "  kairosd audit verify --data /var/lib/kairos --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.withStore(cmd.Context(), true, func(s *store.Store) error {
				r, err := s.VerifyAudit(cmd.Context())
				if err != nil {
					return err
				}
				if d.json {
					if err := d.Print(map[string]any{"events": r.Events, "links": r.Links, "last": r.Last,
						"unauthenticated": r.Unauthenticated,
						"problems":        orEmptyList(r.Problems)}); err != nil {
						return err
					}
				} else {
					d.Printf("%d events, %d links, last event %d\n", r.Events, r.Links, r.Last)
					if r.Unauthenticated > 0 {
						d.Printf("events up to %d are not authenticated, because their key file is lost\n", r.Unauthenticated)
					}
					for _, p := range r.Problems {
						d.Printf("PROBLEM: %s\n", p)
					}
				}
				if len(r.Problems) > 0 {
					return &exit.Status{Code: exit.Failed}
				}
				return nil
			})
		},
	})
	return cmd
}

// newKeyCommand creates a new key for a database whose key file is lost.
func (d *program) newKeyCommand() *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use: "new-key", Short: "Replace a lost key file", Args: cobra.NoArgs,
		Long: `Creates a new key file for a database whose key file (kairos.db.key) is lost. If you
have a copy of the old one, restore it instead: with a new key file, earlier changes of
the database cannot be detected. Therefore all access ends. Users are disabled and lose
their passwords and links to an identity provider. Tokens, sessions, and second factors
are deleted, and open approval requests are cancelled. Nothing is executed until you
create an administrator (kairosd user add NAME --role admin), who then releases the
runs. The audit log records this, and its earlier events count as unauthenticated. If
there is a key file, nothing changes. On a terminal, it requires a confirmation.`,
		Example: "  kairosd audit new-key --data /var/lib/kairos",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !datadir.Exists(d.dir().Database()) {
				return domain.Errorf(domain.CodeUnavailable, "no database in %s", d.data).Suggest("pass its directory with --data")
			}
			if datadir.Exists(d.dir().KeyFile()) {
				return domain.Errorf(domain.CodeConflict, "the key file %s exists", d.dir().KeyFile())
			}
			if err := d.confirm(yes, "End all access, and create a new key file?"); err != nil {
				return err
			}
			s, err := recovery.Open(cmd.Context(), d.dir().Database(), recovery.Options{Options: store.Options{NewKey: true}})
			if err != nil {
				return err
			}
			if err := s.Close(); err != nil {
				return err
			}
			d.Printf(
				"the key file is new, and all access is ended\n  create an administrator: kairosd user add NAME --role admin\n%s\n",
				d.dir().KeyNotice(),
			)
			return nil
		},
	}
	addYes(cmd, &yes)
	return cmd
}

func orEmptyList(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func (d *program) doctorCommand() *cobra.Command {
	salvage, repair := "", false
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check the database and backups", Args: cobra.NoArgs,
		SuggestFor: []string{"check", "fsck", "health", "repair", "status", "verify"},
		Long: `Runs all checks, and prints each finding with what to do: SQLite's integrity and foreign
keys, the checksum of every journal row and value, gaps in journals, steps with two
outcomes, approvals, remains of finished runs, memory, counters, the audit chain and its
anchor, holds, permissions, and free space. It prints the time and place of the last
good backup. With the --config of the server, it compares the backup with the
configured age and recipients. It changes nothing and works while kairosd serve runs.
Exit code 1: a check failed.

With --repair it first corrects the counters of the dashboard. This requires that
kairosd serve is stopped.

With --salvage DIR it copies all rows with a correct checksum from a damaged database to
a new one in DIR, and lists the lost rows. Runs of the new database are held. The damaged
file is not changed. If you have a backup, restore it instead.`,
		Example: "  kairosd doctor --data /var/lib/kairos --config /etc/kairos/kairos.yaml\n" +
			"  kairosd doctor --data /var/lib/kairos --salvage /var/lib/saved",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if salvage != "" {
				return d.salvage(cmd.Context(), salvage)
			}
			if repair && !datadir.Exists(d.dir().Database()) {
				return domain.Errorf(domain.CodeUnavailable, "no database in %s", d.data).Suggest("pass its directory with --data")
			}
			return d.withStore(cmd.Context(), !repair, func(s *store.Store) error {
				if repair {
					if changed, err := s.RecountRuns(cmd.Context()); err != nil {
						return err
					} else if changed && !d.json {
						d.Printf("the counters are corrected\n")
					}
				}
				checks, err := recovery.Doctor(cmd.Context(), s)
				if err != nil {
					return err
				}
				backups, err := d.checkBackups(cmd.Context(), s, time.Now())
				if err != nil {
					return err
				}
				checks = append(checks, backups)
				bad := false
				for _, c := range checks {
					bad = bad || len(c.Problems) > 0
				}
				if d.json {
					if err := d.Print(map[string]any{"ok": !bad, "checks": checks}); err != nil {
						return err
					}
				} else {
					for _, c := range checks {
						state := "ok"
						if len(c.Problems) > 0 {
							state = "PROBLEM"
						}
						d.Printf("%-8s %s (%d checked)\n", state, c.Name, c.Checked)
						for _, f := range c.Found {
							d.Printf("         %s\n", f)
						}
						for _, p := range c.Problems {
							d.Printf("         %s\n", p)
						}
						if c.Advice != "" {
							d.Printf("         next: %s\n", c.Advice)
						}
					}
				}
				if bad {
					return &exit.Status{Code: exit.Failed}
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "correct the counters of the dashboard; kairosd serve must be stopped")
	cmd.Flags().StringVar(&salvage, "salvage", "", "copy all intact rows to a new database in this new directory")
	return cmd
}

func (d *program) salvage(ctx context.Context, dir string) error {
	r, err := recovery.Salvage(ctx, d.dir().Database(), dir, store.Options{})
	if err != nil {
		return err
	}
	if d.json {
		err = d.Print(r)
	} else {
		rows := [][]string{}
		for _, table := range slices.Sorted(maps.Keys(r.Copied)) {
			rows = append(rows, []string{table, strconv.FormatInt(r.Copied[table], 10), strconv.FormatInt(r.Lost[table], 10)})
		}
		d.Table([]string{"TABLE", "ROWS SAVED", "ROWS LOST"}, rows)
		for _, f := range r.Findings {
			d.Printf("  %s\n", f)
		}
		d.Printf("the new database is %s; its unfinished runs are held\n", r.Path)
	}
	if err == nil && len(r.Findings) > 0 {
		err = &exit.Status{Code: exit.Failed}
	}
	return err
}
