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
		Long: `Writes a consistent copy of the database while the daemon may be running, opens
it again and checks everything in it. The manifest beside it (FILE.json) is
written last: a backup exists when its manifest does. Without FILE it goes to the
configured directory (backup.dir, else backups in the data directory).

With recipients, public keys of age by --recipient or backup.recipients in the
configuration, the file is encrypted, and FILE.age is what it is called: only who
has the private key of one of them can read or restore it. The copy is verified
before that, in the data directory.

The key file (kairos.db.key in the data directory) is not in the backup: keep a
copy of it elsewhere, once. Only with it can a backup be restored as it is: it
proves that nobody forged the backup.`,
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
					return exit.Usage("%s exists already", path)
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
	cmd.Flags().StringArrayVar(&recipients, "recipient", nil, "public key of age to encrypt to; may be repeated (default: backup.recipients)")
	return cmd
}

func (d *program) restoreCommand() *cobra.Command {
	var force, drill bool
	var o recovery.RestoreOptions
	cmd := &cobra.Command{
		Use: "restore BACKUP", Short: "Restore a backup", Args: cobra.ExactArgs(1),
		Long: `Verifies a backup completely (that its manifest was written with the key file, its
hash, schema, every row, the audit chain), then puts it in the place of the database in --data. A database that is
there is refused without --force, and kept in a directory beside it; nothing is
deleted. The daemon must be stopped.

All unfinished runs of the restored database are held, because what they did
since the backup is not known to it: look at them, then release them one by one
(kairos resume RUN --release) or all (kairos server release).

The key file of the server that made the backup is needed: the one in --data, or
--key FILE. It is in no backup. If every copy is lost, --without-key restores the
backup all the same. Nobody can tell then whether it was forged, so it restores
plans, runs, and the audit log, which is marked as unauthenticated. It removes all
tokens, sessions, and second factors, cancels open approval requests, and disables
every user, who also lose their passwords and their links to an identity provider.
Nothing is executed until you create an administrator (kairosd user add NAME --role
admin), who then releases the runs. All of this is in the audit log.

With --drill nothing is changed: the backup is only verified. An encrypted backup
is decrypted with --identity, a file as age-keygen writes it; for as long as it is
verified, what is in it lies in a private directory in --data, or in the temporary
directory where there is no --data.`,
		Example: "  kairosd restore --data /var/lib/kairos --force /backup/kairos-2030-01-31.db\n" +
			"  kairosd restore --drill /backup/kairos-2030-01-31.db\n" +
			"  kairosd restore --drill --identity identity.txt /backup/kairos-2030-01-31.db.age",
		RunE: func(cmd *cobra.Command, args []string) error {
			if drill && o.WithoutKey {
				return exit.Usage("--drill needs the key file: without it nothing is proved")
			}
			if drill {
				return d.drill(cmd.Context(), args[0], o)
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
				d.Printf("lost: %d events, from %d to %d\n", r.Hold.Lost-r.Hold.Last, r.Hold.Last+1, r.Hold.Lost)
			}
			d.Printf("%d unfinished runs are held; release them with: kairos resume RUN --release, or kairos server release\n", r.Hold.Held)
			if o.WithoutKey {
				d.Printf("the key file is a new one, and all access was ended; before you can release anything, create an administrator: " +
					"kairosd user add NAME --role admin\n")
			}
			d.Printf("%s\n", d.dir().KeyNotice())
			if r.Aside != "" {
				d.Printf("the database that was there is in %s\n", r.Aside)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace a database that is there; it is kept aside")
	cmd.Flags().BoolVar(&drill, "drill", false, "verify the backup and change nothing")
	cmd.Flags().BoolVar(&o.WithoutKey, "without-key", false, "every copy of the key file is lost: restore the data and end all access")
	cmd.Flags().StringVar(&o.IdentityFile, "identity", "", "file with the private key of an encrypted backup's recipient")
	cmd.Flags().StringVar(&o.KeyFile, "key", "", "key file of the server that made the backup (default: the one in --data)")
	return cmd
}

// drill verifies a backup as a restore would.
func (d *program) drill(ctx context.Context, path string, o recovery.RestoreOptions) error {
	b, err := recovery.VerifyBackupFile(ctx, path, d.dir().Database(), o)
	if err != nil {
		return err
	}
	if d.json {
		return d.Print(b)
	}
	d.Printf("%s can be restored: %d runs, %d journal rows, audit event %d, made %s by kairosd %s\n", path, b.Rows["runs"],
		b.Rows["step_results"],
		b.AuditSeq, b.Created.Format(time.RFC3339), b.Kairosd)
	return nil
}
