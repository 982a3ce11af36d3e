package cli

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store"
)

func (d *daemon) migrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "migrate", Short: "Bring the database's schema up to date, or show it", Args: cobra.NoArgs,
		Long:    "Shows which migrations the database has. serve migrates by itself; migrate up does it ahead of time. A newer database is never touched.",
		Example: "  kairosd migrate --data /var/lib/kairos\n  kairosd migrate up --data /var/lib/kairos",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.withStore(cmd.Context(), true, func(s *store.Store) error { return d.migrations(cmd, s) })
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use: "up", Short: "Apply what is missing", Args: cobra.NoArgs,
		Long: "Applies every migration that the database does not have yet.", Example: "  kairosd migrate up --data /var/lib/kairos",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.withStore(cmd.Context(), false, func(s *store.Store) error { return d.migrations(cmd, s) })
		},
	})
	return cmd
}

func (d *daemon) migrations(cmd *cobra.Command, s *store.Store) error {
	list, err := s.Migrations(cmd.Context())
	if err != nil {
		return err
	}
	if d.json {
		return d.print(map[string]any{"migrations": list})
	}
	for _, m := range list {
		state := "missing"
		if m.Applied {
			state = "applied"
		}
		d.printf("%05d  %-8s %s\n", m.Version, state, m.Name)
	}
	return nil
}

func (d *daemon) auditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "audit", Short: "Check the audit log", Args: cobra.NoArgs,
		Long: "The audit log holds every act of people and of the engine, chained so that a change is found.", Example: "  kairosd audit verify --data /var/lib/kairos",
		RunE: func(cmd *cobra.Command, _ []string) error { return usage("say: kairosd audit verify") },
	}
	cmd.AddCommand(&cobra.Command{
		Use: "verify", Short: "Check the audit chain from its beginning", Args: cobra.NoArgs,
		Long:    "Reads the whole audit log and checks its numbering, its chain and the anchor beside the database. Works while the daemon runs. Exit code 1: something does not fit.",
		Example: "  kairosd audit verify --data /var/lib/kairos --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.withStore(cmd.Context(), true, func(s *store.Store) error {
				r, err := s.VerifyAudit(cmd.Context())
				if err != nil {
					return err
				}
				if d.json {
					if err := d.print(map[string]any{"events": r.Events, "links": r.Links, "last": r.Last, "problems": orEmptyList(r.Problems)}); err != nil {
						return err
					}
				} else {
					d.printf("%d events, %d links, last event %d\n", r.Events, r.Links, r.Last)
					for _, p := range r.Problems {
						d.printf("PROBLEM: %s\n", p)
					}
				}
				if len(r.Problems) > 0 {
					return &exit{code: exitFailed}
				}
				return nil
			})
		},
	})
	return cmd
}

func orEmptyList(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func (d *daemon) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Examine the database without changing it", Args: cobra.NoArgs,
		Long: `Runs every check there is and reports what it finds: SQLite's own integrity and
foreign keys, the checksum of every journal row, the gaps in journals, the audit
chain. It changes nothing. Exit code 1: something is wrong.`,
		Example: "  kairosd doctor --data /var/lib/kairos",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.withStore(cmd.Context(), true, func(s *store.Store) error {
				checks, err := s.Doctor(cmd.Context())
				if err != nil {
					return err
				}
				bad := false
				for _, c := range checks {
					bad = bad || len(c.Problems) > 0
				}
				if d.json {
					if err := d.print(map[string]any{"ok": !bad, "checks": checks}); err != nil {
						return err
					}
				} else {
					for _, c := range checks {
						state := "ok"
						if len(c.Problems) > 0 {
							state = "PROBLEM"
						}
						d.printf("%-8s %s (%d examined)\n", state, c.Name, c.Examined)
						for _, p := range c.Problems {
							d.printf("         %s\n", p)
						}
					}
				}
				if bad {
					return &exit{code: exitFailed}
				}
				return nil
			})
		},
	}
}

func (d *daemon) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "Write a verified copy of the database", Args: cobra.ExactArgs(1),
		Long: `Writes a consistent copy of the database while the daemon may be running, opens
it again and checks it. The file appears under its name only when it is complete.`,
		Example: "  kairosd backup --data /var/lib/kairos /backup/kairos-2030-01-31.db",
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := os.Stat(args[0]); err == nil {
				return usage("%s exists already", args[0])
			}
			return d.withStore(cmd.Context(), true, func(s *store.Store) error {
				started := time.Now()
				if err := s.Backup(cmd.Context(), args[0]); err != nil {
					return err
				}
				info, err := os.Stat(args[0])
				if err != nil {
					return kairos.Errorf(kairos.CodeUnavailable, "backup: %w", err)
				}
				if d.json {
					return d.print(map[string]any{"file": args[0], "bytes": info.Size(), "ms": time.Since(started).Milliseconds()})
				}
				d.printf("%s: %d bytes, verified\n", args[0], info.Size())
				return nil
			})
		},
	}
}
