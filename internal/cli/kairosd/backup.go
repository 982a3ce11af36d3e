package kairosd

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/buildinfo"
	"github.com/kairosd/kairosd/internal/datadir"
	"github.com/kairosd/kairosd/internal/exit"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/config"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
)

func (d *program) backupCommand() *cobra.Command {
	var recipients []string
	cmd := &cobra.Command{
		Use: "backup [FILE]", Short: "Create a verified backup", Args: cobra.MaximumNArgs(1),
		Long: `Writes a consistent copy of the database, also while kairosd serve runs, and verifies
the whole copy. It writes the manifest (FILE.json) last: a backup without a manifest is
incomplete. Without FILE, the backup goes to the configured directory (backup.dir, else
backups in the data directory).

With recipients (age public keys, from --recipient or backup.recipients in the
configuration) the file is encrypted and has the name FILE.age. Reading or restoring it
requires the private key of one recipient. kairosd verifies the copy before it encrypts
it, in the data directory.

The key file (kairos.db.key in the data directory) is not part of the backup. Keep a
copy of it in another place. A restore needs the key file to prove that the backup is
not forged.`,
		Example: "  kairosd backup --data /var/lib/kairos /backup/kairos-2030-01-31.db\n" +
			"  kairosd backup --recipient age1hjxycsuex3q5r5yrjzuxq4fcuzdgthn3zwwqje4q5uac66q9pu8sn52csx",
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := config.Load(d.config)
			if err != nil {
				return err
			}
			if len(recipients) == 0 {
				recipients = cfg.Backup.Recipients
			}
			path := ""
			if len(args) > 0 {
				if path = datadir.BackupName(args[0], recipients); datadir.Exists(path) {
					return exit.Usage("%s exists\n  choose another file", path)
				}
			} else if path, err = datadir.NewBackup(d.dir().Backups(cfg), datadir.Manual, recipients); err != nil {
				return err
			}
			return d.withStore(cmd.Context(), true, func(s *store.Store) error {
				started := time.Now()
				b, err := recovery.EncryptedBackup(cmd.Context(), s, path, buildinfo.Read().Version, recipients)
				if err != nil {
					return err
				}
				if d.json {
					return d.Print(map[string]any{"file": path, "bytes": b.Bytes, "sha256": b.SHA256, "encrypted": b.Encryption != nil,
						"ms": time.Since(started).Milliseconds()})
				}
				encrypted := ""
				if b.Encryption != nil {
					encrypted = ", encrypted"
				}
				d.Printf("%s: %d bytes, verified up to audit event %d%s\n", path, b.Bytes, b.AuditSeq, encrypted)
				d.Printf("%s\n", d.dir().KeyNotice())
				return nil
			})
		},
	}
	cmd.Flags().StringArrayVar(&recipients, "recipient", nil, "age public key to encrypt to; repeatable (default: backup.recipients)")
	return cmd
}

func (d *program) restoreCommand() *cobra.Command {
	var force, dryRun, yes bool
	var o recovery.RestoreOptions
	cmd := &cobra.Command{
		Use: "restore BACKUP", Short: "Restore a backup", Args: cobra.ExactArgs(1),
		Long: `Verifies a whole backup (the manifest, the hash, the schema, every row, the audit
chain), then replaces the database in --data with it. Replacing an existing database
requires --force. The replaced database stays in a directory next to the new one.
kairosd serve must be stopped.

All unfinished runs of the restored database are held, because the database does not
contain their actions after the backup. Check them, then release each one (kairos
resume RUN --release) or all (kairos server release).

The restore needs the key file of the server that made the backup: the one in --data,
or --key FILE. No backup contains it. If every copy is lost, use --without-key. Then the
backup is not proved to be authentic. Therefore the restore keeps only plans, runs, and
the audit log, which is marked as unauthenticated. It deletes all tokens, sessions, and
second factors, and cancels open approval requests. It disables every user, and removes
their passwords and links to an identity provider. Nothing is executed until you create
an administrator (kairosd user add NAME --role admin), who then releases the runs. The
audit log records all of this. On a terminal, this requires a confirmation.

With --dry-run, the backup is verified and nothing changes. An encrypted backup is
decrypted with --identity, a file that age-keygen wrote. During the verification, its
content is in a private directory in --data, or in the temporary directory if there is
no --data.`,
		Example: "  kairosd restore --data /var/lib/kairos --force /backup/kairos-2030-01-31.db\n" +
			"  kairosd restore --dry-run /backup/kairos-2030-01-31.db\n" +
			"  kairosd restore --dry-run --identity identity.txt /backup/kairos-2030-01-31.db.age",
		RunE: func(cmd *cobra.Command, args []string) error {
			if dryRun && o.WithoutKey {
				return exit.Usage("use either --dry-run or --without-key, not both\n  only the key file proves that a backup is authentic")
			}
			if o.WithoutKey {
				if err := d.confirm(yes, "Restore without the key file, and end all access?"); err != nil {
					return err
				}
			}
			if dryRun {
				return d.verifyOnly(cmd.Context(), args[0], o)
			}
			o.Replace = force
			r, err := recovery.Restore(cmd.Context(), args[0], d.dir().Database(), o)
			if err != nil {
				return err
			}
			if d.json {
				return d.Print(r)
			}
			d.Printf("restored %s, as of audit event %d\n", args[0], r.Hold.Last)
			if r.Hold.Lost > 0 {
				d.Printf("%d audit events are lost, from %d to %d\n", r.Hold.Lost-r.Hold.Last, r.Hold.Last+1, r.Hold.Lost)
			}
			d.Printf("%d unfinished runs are held; release them with: kairos resume RUN --release, or kairos server release\n", r.Hold.Held)
			if o.WithoutKey {
				d.Printf("the key file is new, and all access is ended\n  create an administrator, who can release runs: " +
					"kairosd user add NAME --role admin\n")
			}
			d.Printf("%s\n", d.dir().KeyNotice())
			if r.Previous != "" {
				d.Printf("the previous database is in %s\n", r.Previous)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace an existing database, and keep it in another directory")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "verify the backup and change nothing")
	cmd.Flags().BoolVar(&o.WithoutKey, "without-key", false, "restore without the key file, and end all access")
	addYes(cmd, &yes)
	cmd.Flags().StringVar(&o.IdentityFile, "identity", "", "file with the private key of a recipient of an encrypted backup")
	cmd.Flags().StringVar(&o.KeyFile, "key", "", "key file of the server that made the backup (default: the one in --data)")
	return cmd
}

// verifyOnly verifies a backup as a restore would.
func (d *program) verifyOnly(ctx context.Context, path string, o recovery.RestoreOptions) error {
	b, err := recovery.VerifyBackupFile(ctx, path, d.dir().Database(), o)
	if err != nil {
		return err
	}
	if d.json {
		return d.Print(b)
	}
	d.Printf("%s can be restored: %d runs, %d journal rows, audit event %d, created %s by kairosd %s\n", path, b.Rows["runs"],
		b.Rows["step_results"],
		b.AuditSeq, b.Created.Format(time.RFC3339), b.Kairosd)
	return nil
}
