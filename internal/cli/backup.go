package cli

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/store"
)

func (d *daemon) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "backup [FILE]", Short: "Write a verified copy of the database", Args: cobra.MaximumNArgs(1),
		Long: `Writes a consistent copy of the database while the daemon may be running, opens
it again and checks everything in it. The manifest beside it (FILE.json) is
written last: a backup exists when its manifest does. Without FILE it goes to the
configured directory (backup.dir, else backups in the data directory).

The key of the audit chain (kairos.db.key in the data directory) is not in the
backup: keep a copy of it elsewhere, once. Restoring elsewhere needs it.`,
		Example: "  kairosd backup --data /var/lib/kairos /backup/kairos-2030-01-31.db",
		RunE: func(cmd *cobra.Command, args []string) error {
			path := ""
			if len(args) > 0 {
				if path = args[0]; exists(path) {
					return usage("%s exists already", path)
				}
			} else {
				cfg, err := config.Load(d.config)
				if err != nil {
					return err
				}
				if path, err = newBackup(d.backups(cfg)); err != nil {
					return err
				}
			}
			return d.withStore(cmd.Context(), true, func(s *store.Store) error {
				started := time.Now()
				b, err := s.Backup(cmd.Context(), path, thisBuild().Version)
				if err != nil {
					return err
				}
				if d.json {
					return d.print(map[string]any{"file": path, "bytes": b.Bytes, "sha256": b.SHA256, "ms": time.Since(started).Milliseconds()})
				}
				d.printf("%s: %d bytes, verified up to audit event %d\n", path, b.Bytes, b.AuditSeq)
				return nil
			})
		},
	}
}

// backups is where backups go that nobody named a place for.
func (d *daemon) backups(cfg config.Config) string {
	if cfg.Backup.Dir != "" {
		return cfg.Backup.Dir
	}
	return filepath.Join(d.data, "backups")
}

// newBackup names a new backup in a directory, which it makes.
func newBackup(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", kairos.Errorf(kairos.CodeUnavailable, "cannot create the directory for backups: %w", err)
	}
	return filepath.Join(dir, "kairos-"+time.Now().UTC().Format("20060102T150405.000Z")+".db"), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (d *daemon) restoreCommand() *cobra.Command {
	var force, drill, newKey bool
	var key string
	cmd := &cobra.Command{
		Use: "restore BACKUP", Short: "Put a backup in the place of the database", Args: cobra.ExactArgs(1),
		Long: `Verifies a backup completely (its manifest, hash, schema, every row, the audit
chain), then puts it in the place of the database in --data. A database that is
there is refused without --force, and kept in a directory beside it; nothing is
deleted. The daemon must be stopped.

All unfinished runs of the restored database are held, because what they did
since the backup is not known to it: look at them, then release them one by one
(kairos release RUN) or all (kairos release --all).

With --drill nothing is changed: the backup is only verified.`,
		Example: "  kairosd restore --data /var/lib/kairos --force /backup/kairos-2030-01-31.db\n  kairosd restore --drill /backup/kairos-2030-01-31.db",
		RunE: func(cmd *cobra.Command, args []string) error {
			if drill {
				return d.drill(cmd.Context(), args[0], key)
			}
			r, err := store.Restore(cmd.Context(), args[0], d.database(), store.RestoreOptions{Replace: force, KeyFile: key, NewKey: newKey})
			if err != nil {
				return err
			}
			if d.json {
				return d.print(r)
			}
			d.printf("restored %s, as of audit event %d\n", args[0], r.Hold.Last)
			if r.Hold.Lost > 0 {
				d.printf("lost: %d events, from %d to %d\n", r.Hold.Lost-r.Hold.Last, r.Hold.Last+1, r.Hold.Lost)
			}
			d.printf("%d unfinished runs are held; release them with: kairos release RUN, or --all\n", r.Hold.Held)
			if r.Aside != "" {
				d.printf("the database that was there is in %s\n", r.Aside)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace a database that is there; it is kept aside")
	cmd.Flags().BoolVar(&drill, "drill", false, "verify the backup and change nothing")
	cmd.Flags().BoolVar(&newKey, "new-key", false, "the key is lost: go on with a new one; changes to the audit log of before can then not be found")
	cmd.Flags().StringVar(&key, "key", "", "file with the audit key of the backup's installation (default: the one in --data)")
	return cmd
}

// drill verifies a backup as a restore would.
func (d *daemon) drill(ctx context.Context, path, key string) error {
	b, err := store.VerifyBackupFile(ctx, path, d.database(), key)
	if err != nil {
		return err
	}
	if d.json {
		return d.print(b)
	}
	d.printf("%s can be restored: %d runs, %d journal rows, audit event %d, made %s by kairosd %s\n", path, b.Rows["runs"], b.Rows["step_results"],
		b.AuditSeq, b.Created.Format(time.RFC3339), b.Kairosd)
	return nil
}
