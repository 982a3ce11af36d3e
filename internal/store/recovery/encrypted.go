package recovery

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/encrypt"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// encryptingDir is the suffix of the directory next to the database in which a copy is verified
// before it is encrypted. It is not at the destination, which may not be trusted with unencrypted
// data. The process that uses it holds its lock.
const encryptingDir = ".encrypting"

// encryptedCopy is verifiedCopy, but only the encrypted form reaches path.
func (s *database) encryptedCopy(ctx context.Context, path string, recipients []string) (b domain.Backup, err error) {
	to, err := encrypt.Recipients(recipients)
	if err != nil {
		return b, err
	}
	// One at a time, so that files of a killed backup can be distinguished from those of an active
	// one.
	work := s.db.Path + encryptingDir
	lock, err := core.TakeLock(work + ".lock")
	if domain.CodeOf(err) == domain.CodeLocked {
		return b, domain.Errorf(domain.CodeConflict, "another backup of this database is being encrypted").
			Suggest("try again when it has finished")
	} else if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, core.ReleaseLock(lock)) }()
	if err := freshDir(work); err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if err := roomFor(s.db.Path, work, 1); err != nil {
		return b, err
	}
	plain := filepath.Join(work, "copy.db")
	if b, err = s.verifiedCopy(ctx, plain); err != nil {
		return b, err
	}
	if err := roomFor(s.db.Path, filepath.Dir(path), 1); err != nil { // the copy may have used it up
		return b, err
	}
	inside := &domain.Encryption{Recipients: recipients, Bytes: b.Bytes, SHA256: b.SHA256}
	if err := encryptFile(plain, path, to, func(int64, int64) {}); err != nil {
		return b, domain.Errorf(domain.CodeUnavailable, "encrypt the copy: %w", err)
	}
	failpoint.Hit("backup.encrypted")
	b.Encryption = inside
	b.SHA256, b.Bytes, err = fileSum(path)
	return b, err
}

// freshDir creates an empty private directory.
func freshDir(path string) error {
	err := os.RemoveAll(path)
	if err == nil {
		err = os.Mkdir(path, 0o700)
	}
	if err != nil {
		return domain.Errorf(domain.CodeUnavailable, "create %s again: %w", path, err)
	}
	return nil
}

// removeDecrypted removes unencrypted databases that killed backups and restores left behind. The
// caller holds the database's lock. A process that only reads the database may still be
// encrypting.
func removeDecrypted(path string) error {
	err := os.RemoveAll(path + decryptingDir)
	work := path + encryptingDir
	if _, statErr := os.Stat(work); err == nil && statErr == nil {
		var lock *os.File
		if lock, err = core.TakeLock(work + ".lock"); domain.CodeOf(err) == domain.CodeLocked {
			return nil
		} else if err == nil {
			err = errors.Join(os.RemoveAll(work), core.ReleaseLock(lock))
		}
	}
	if err != nil {
		return domain.Errorf(domain.CodeUnavailable, "remove files of an interrupted encrypted backup: %w", err)
	}
	return nil
}

// encryptFile reports how many bytes of the file are encrypted.
func encryptFile(from, to string, recipients []age.Recipient, report func(done, of int64)) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	return writePrivate(to, func(w io.Writer) error {
		buffered := bufio.NewWriterSize(w, 1<<20)
		sealed, err := encrypt.Writer(buffered, recipients)
		if err != nil {
			return err
		}
		err = copyReporting(sealed, in, info.Size(), report)
		return errors.Join(err, sealed.Close(), buffered.Flush())
	})
}

// writePrivate writes a new private file and syncs it.
func writePrivate(path string, write func(io.Writer) error) error {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(write(out), out.Sync(), out.Close())
}

// VerifyIntact checks a backup without opening it, because opening an encrypted one requires an
// identity. It checks that the file is, bit for bit, the one that was made of a verified copy.
func VerifyIntact(b domain.Backup) error {
	sum, size, err := fileSum(b.Path)
	if err != nil {
		return err
	}
	if sum != b.SHA256 || size != b.Bytes {
		return notTheFile(b.Path)
	}
	return nil
}

// opened returns an unencrypted form of a backup: the file itself, or the decrypted file with the
// same name in a directory that makeDir creates.
func opened(b domain.Backup, identityFile string, makeDir func() (string, error)) (domain.Backup, error) {
	if b.Encryption == nil {
		return b, nil
	}
	if err := VerifyIntact(b); err != nil {
		return b, err
	}
	to := strings.Join(b.Encryption.Recipients, ", ")
	if identityFile == "" {
		return b, domain.Errorf(domain.CodeInvalid, "%s is encrypted for %s; reading it requires an identity", b.Path, to).
			Suggest("pass the file with the private key of one of them: --identity FILE. The backup file is unchanged")
	}
	with, err := encrypt.Identities(identityFile)
	if err != nil {
		return b, err
	}
	in, err := os.Open(b.Path)
	if err != nil {
		return b, domain.Errorf(domain.CodeUnavailable, "read %s: %w", b.Path, err)
	}
	defer in.Close()
	plain, err := encrypt.Reader(bufio.NewReaderSize(in, 1<<20), with)
	if errors.Is(err, encrypt.ErrNoIdentity) {
		return b, domain.Errorf(domain.CodeInvalid, "%s is encrypted for %s; %s contains none of their identities", b.Path, to,
			identityFile).
			Suggest("pass the file with the private key of one of them: --identity FILE. age-keygen -y FILE prints the public key")
	} else if err != nil {
		return b, domain.Errorf(domain.CodeCorrupt, "%s cannot be decrypted: %w", b.Path, err).Suggest("use another backup; " +
			"this one was changed")
	}
	dir, err := makeDir()
	if err != nil {
		return b, err
	}
	path := filepath.Join(dir, filepath.Base(b.Path))
	err = writePrivate(path, func(w io.Writer) error {
		_, err := io.Copy(w, plain)
		return err
	})
	if err != nil {
		return b, domain.Errorf(domain.CodeUnavailable, "decrypt %s into %s: %w", b.Path, dir, err).
			Suggest("check the free space there; if there is enough, the backup was changed")
	}
	b.Path, b.Bytes, b.SHA256, b.Encryption = path, b.Encryption.Bytes, b.Encryption.SHA256, nil
	return b, nil
}

func notTheFile(path string) error {
	return domain.Errorf(domain.CodeCorrupt, "%s does not match its manifest", path).
		Suggest("use another backup; this one was changed or is incomplete")
}
