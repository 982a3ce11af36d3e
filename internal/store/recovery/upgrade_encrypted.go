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

// asideEncrypted, in the directory of an upgrade that is ready, is the encrypted
// database of before it, which is kept instead of the file itself.
const asideEncrypted = "aside.age"

// settingRecipients is the key under which KeepRecipients keeps them.
const settingRecipients = "backup_recipients"

// KeepRecipients keeps in the database whom the daemon encrypts backups to. A
// command that upgrades the database may not know the daemon's configuration.
func KeepRecipients(ctx context.Context, s *store.Store, recipients []string) error {
	text := strings.Join(recipients, "\n")
	if before, err := s.Setting(ctx, settingRecipients); err != nil || before == text {
		return err
	}
	return s.SetSetting(ctx, settingRecipients, text)
}

// Recipients are those that KeepRecipients kept.
func Recipients(ctx context.Context, s *store.Store) ([]string, error) {
	text, err := s.Setting(ctx, settingRecipients)
	return strings.Fields(text), err
}

// recipientsOf are those that the database of before an upgrade is encrypted to:
// whom the opener names or, where it knows of no configuration, whom the daemon
// had at last.
func (s *upgrade) recipientsOf(ctx context.Context, old *sql.DB) ([]string, error) {
	recipients := s.recipients
	if recipients == nil {
		text, err := dbsqlc.New(old).SettingGet(ctx, settingRecipients)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, core.Translate(err, "read whom backups are encrypted to")
		}
		recipients = strings.Fields(text)
	}
	if _, err := encrypt.Recipients(recipients); err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "the database is not upgraded: what is kept of it from before could not be encrypted: %w", err).
			Suggest("mend backup.recipients in the configuration and start again; nothing was changed in %s", s.db.Path)
	}
	return recipients, nil
}

// keepEncrypted describes the file that an upgrade keeps of the database of
// before: the database itself or, if there are recipients, its encrypted form,
// which it writes to the directory of the upgrade. Nobody has the database open.
func (s *upgrade) keepEncrypted(b *domain.Backup, work string, recipients []string) (err error) {
	if b.SHA256, b.Bytes, err = fileSum(s.db.Path); err != nil || len(recipients) == 0 {
		return err
	}
	to, err := encrypt.Recipients(recipients)
	if err != nil {
		return err
	}
	sealed := filepath.Join(work, asideEncrypted)
	if err := encryptFile(s.db.Path, sealed, to, s.counting(domain.StartEncrypting)); err != nil {
		return domain.Errorf(domain.CodeUnavailable, "the database is not upgraded: what is kept of it from before cannot be encrypted into %s: %w", sealed, err).
			Suggest("see that there is room there for two more databases and that it can be written to, and start again; nothing was changed in %s", s.db.Path)
	}
	failpoint.Hit("upgrade.encrypted")
	b.Encryption = &domain.Encryption{Recipients: recipients, Bytes: b.Bytes, SHA256: b.SHA256}
	b.SHA256, b.Bytes, err = fileSum(sealed)
	return err
}

// placeEncrypted puts the encrypted form of the database of before aside, if an
// upgrade made one, and gives the name of the file that is kept. Then what is left
// of the write-ahead log is removed too: all of it was in the database before it
// was encrypted, and nobody could write to it since.
func placeEncrypted(ready, aside, dir, name string, rename renamer) (kept string, err error) {
	kept = name + EncryptedSuffix
	from, to := filepath.Join(ready, asideEncrypted), filepath.Join(aside, kept)
	if _, err := os.Stat(from); err == nil {
		if err := os.MkdirAll(aside, 0o700); err != nil {
			return "", err
		}
		if err := rename(from, to); err != nil {
			return "", err
		}
		failpoint.Hit("upgrade.kept")
	} else if _, err := os.Stat(to); err != nil { // it is not there from an earlier try either
		return name, nil
	}
	for _, suffix := range []string{"-shm", "-wal"} {
		if err := os.Remove(filepath.Join(dir, name+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return kept, nil
}
