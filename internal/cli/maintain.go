package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/config"
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
		Long: `Applies every migration that the database does not have yet. The database of before
stays in pre-schema-N-TIME in the data directory; it is encrypted if the
configuration names whom backups are encrypted to or, without --config, if that of
the daemon did.`,
		Example: "  kairosd migrate up --data /var/lib/kairos --config /etc/kairos/kairos.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load(d.config)
			if err != nil {
				return err
			}
			var o store.Options
			if d.config != "" {
				o.Recipients = append([]string{}, cfg.Backup.Recipients...)
			}
			return d.withOpened(cmd.Context(), o, func(s *store.Store) error { return d.migrations(cmd, s) })
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
		RunE: func(cmd *cobra.Command, _ []string) error { return usage("say: kairosd audit verify or export") },
	}
	cmd.AddCommand(d.auditExportCommand(), d.newKeyCommand(), &cobra.Command{
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

// newKeyCommand goes on without the key that the audit log was written with (O11).
func (d *daemon) newKeyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "new-key", Short: "Go on with a new key where the old one is lost", Args: cobra.NoArgs,
		Long: `Makes a new key for the audit log beside a database whose key file is missing,
and records that. Put the old key back instead if there is a copy of it: with a
new one, changes to the events of before can not be found any more. It does
nothing where there is a key.`,
		Example: "  kairosd audit new-key --data /var/lib/kairos",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !exists(d.database()) {
				return kairos.Errorf(kairos.CodeUnavailable, "there is no database in %s", d.data).Suggest("say where it is with --data")
			}
			if exists(d.database() + ".key") {
				return kairos.Errorf(kairos.CodeConflict, "the key of the audit log is there")
			}
			s, err := store.Open(cmd.Context(), d.database(), store.Options{NewKey: true})
			if err != nil {
				return err
			}
			if err := s.Close(); err != nil {
				return err
			}
			d.printf("the audit log goes on with a new key: keep a copy of %s.key elsewhere\n", d.database())
			return nil
		},
	}
}

func orEmptyList(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func (d *daemon) doctorCommand() *cobra.Command {
	salvage := ""
	cmd := &cobra.Command{
		Use: "doctor", Short: "Examine the database without changing it", Args: cobra.NoArgs,
		Long: `Runs every check there is and reports what it finds and what to do about it:
SQLite's own integrity and foreign keys, the checksum of every journal row and
value, gaps in journals, visits with two outcomes, counters, the audit chain and
its anchor, holds, permissions, free space. It says when the last good backup was
made and where it is, and with the daemon's --config whether that is as the
configuration wants it: how old it may be, and encrypted to whom. It changes
nothing and works while the daemon runs. Exit code 1: something is wrong.

With --salvage DIR it copies everything whose checksum fits out of a damaged
database into a new one in DIR, whose runs are held, and lists what was lost. The
damaged file is only read. A backup is the better choice if there is one.`,
		Example: "  kairosd doctor --data /var/lib/kairos --config /etc/kairos/kairos.yaml\n  kairosd doctor --data /var/lib/kairos --salvage /var/lib/saved",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if salvage != "" {
				return d.salvage(cmd.Context(), salvage)
			}
			return d.withStore(cmd.Context(), true, func(s *store.Store) error {
				checks, err := s.Doctor(cmd.Context())
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
						for _, f := range c.Found {
							d.printf("         %s\n", f)
						}
						for _, p := range c.Problems {
							d.printf("         %s\n", p)
						}
						if c.Advice != "" {
							d.printf("         -> %s\n", c.Advice)
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
	cmd.Flags().StringVar(&salvage, "salvage", "", "copy what can be saved into a new database in this new directory")
	return cmd
}

func (d *daemon) salvage(ctx context.Context, dir string) error {
	r, err := store.Salvage(ctx, d.database(), dir, store.Options{})
	if err != nil {
		return err
	}
	if d.json {
		err = d.print(r)
	} else {
		for _, table := range sortedKeys(r.Copied) {
			d.printf("%-16s %9d rows saved, %d lost\n", table, r.Copied[table], r.Lost[table])
		}
		for _, f := range r.Findings {
			d.printf("  %s\n", f)
		}
		d.printf("what was saved is in %s; its unfinished runs are held\n", r.Path)
	}
	if err == nil && len(r.Findings) > 0 {
		err = &exit{code: exitFailed}
	}
	return err
}
