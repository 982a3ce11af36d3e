package recovery

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/encrypt"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// previousEncrypted, in the directory of a completed upgrade, is the encrypted old database, which is
// kept instead of the file itself.
const previousEncrypted = "aside.age"

// settingRecipients is the setting in which KeepRecipients stores the recipients.
const settingRecipients = "backup_recipients"

// KeepRecipients stores the recipients of the daemon's backups in the database, because a command
// that upgrades the database may not have the daemon's configuration.
func KeepRecipients(ctx context.Context, s *store.Store, recipients []string) error {
	text := strings.Join(recipients, "\n")
	if before, err := s.Setting(ctx, settingRecipients); err != nil || before == text {
		return err
	}
	return s.SetSetting(ctx, settingRecipients, text)
}

// Recipients returns the recipients stored by KeepRecipients.
func Recipients(ctx context.Context, s *store.Store) ([]string, error) {
	text, err := s.Setting(ctx, settingRecipients)
	return strings.Fields(text), err
}

// recipientsOf returns the recipients for the old database of an upgrade: those of the caller, or
// the stored ones if the caller has no configuration.
func (s *upgrade) recipientsOf(ctx context.Context, old *sql.DB) ([]string, error) {
	recipients := s.recipients
	if recipients == nil {
		text, err := dbsqlc.New(old).SettingGet(ctx, settingRecipients)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, core.Translate(err, "read the recipients of backups")
		}
		recipients = strings.Fields(text)
	}
	if _, err := encrypt.Recipients(recipients); err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "database not upgraded: cannot encrypt the backup of the old schema: %w", err).
			Suggest("fix backup.recipients in the configuration and start again; %s is unchanged", s.db.Path)
	}
	return recipients, nil
}

// keepEncrypted describes the file that an upgrade keeps of the old database: the database itself
// or, if there are recipients, its encrypted form, which it writes to the directory of the
// upgrade. No process has the database open.
func (s *upgrade) keepEncrypted(b *domain.Backup, work string, recipients []string) (err error) {
	if b.SHA256, b.Bytes, err = fileSum(s.db.Path); err != nil || len(recipients) == 0 {
		return err
	}
	to, err := encrypt.Recipients(recipients)
	if err != nil {
		return err
	}
	sealed := filepath.Join(work, previousEncrypted)
	if err := encryptFile(s.db.Path, sealed, to, s.counting(domain.StartEncrypting)); err != nil {
		return domain.Errorf(domain.CodeUnavailable,
			"database not upgraded: cannot write the encrypted backup of the old schema to %s: %w", sealed, err).
			Suggest("make that directory writable, with space for two more copies of the database, and start again; %s is "+
				"unchanged", s.db.Path)
	}
	failpoint.Hit("upgrade.encrypted")
	b.Encryption = &domain.Encryption{Recipients: recipients, Bytes: b.Bytes, SHA256: b.SHA256}
	b.SHA256, b.Bytes, err = fileSum(sealed)
	return err
}

// placeEncrypted moves the encrypted old database to its final place, if an upgrade made one, and
// returns the name of the kept file. Then it removes the rest of the write-ahead log: the database
// contained all of it before it was encrypted, and nothing was written since.
func placeEncrypted(ready, previous, dir, name string, rename renamer) (kept string, err error) {
	kept = name + EncryptedSuffix
	from, to := filepath.Join(ready, previousEncrypted), filepath.Join(previous, kept)
	if _, err := os.Stat(from); err == nil {
		if err := os.MkdirAll(previous, 0o700); err != nil {
			return "", err
		}
		if err := rename(from, to); err != nil {
			return "", err
		}
		failpoint.Hit("upgrade.kept")
	} else if _, err := os.Stat(to); err != nil { // an earlier attempt did not place it either
		return name, nil
	}
	for _, suffix := range []string{"-shm", "-wal"} {
		if err := os.Remove(filepath.Join(dir, name+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return kept, nil
}
