package core

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// WriteWhole writes a private file atomically: after a crash, it is complete or missing.
func WriteWhole(path string, text []byte) error {
	return writeSynced(path, text, func() { failpoint.Hit("file.synced") }, func() { failpoint.Hit("file.renamed") })
}

// writeSynced is WriteWhole with a callback after each step.
func writeSynced(path string, text []byte, synced, renamed func()) error {
	temp := path + ".partial"
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return domain.Errorf(domain.CodeUnavailable, "write %s: %w", path, err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	synced()
	if err == nil {
		err = os.Rename(temp, path)
	}
	renamed()
	if err != nil {
		return JoinRemove(domain.Errorf(domain.CodeUnavailable, "write %s: %w", path, err), temp)
	}
	return SyncDir(filepath.Dir(path))
}

// JoinRemove removes a file after an error, and returns that error.
func JoinRemove(err error, path string) error {
	if removeErr := os.Remove(path); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
		return fmt.Errorf("%w (and %s)", err, removeErr)
	}
	return err
}

// SyncFile makes the content of a file durable.
func SyncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// RestoredDir, in the data directory, contains a complete restored or upgraded database. The rename
// to this name commits the restore: it must then be finished before the database is opened.
const RestoredDir = "restored"

// PreviousFile, in RestoredDir, contains the name of the directory for the old files.
const PreviousFile = "aside"

// RestorePending reports whether a restore or an upgrade of the database at path was committed but
// not finished.
func RestorePending(path string) bool {
	_, err := os.Stat(filepath.Join(filepath.Dir(path), RestoredDir, PreviousFile))
	return err == nil
}

// KeepPrivate removes the permissions of others for a file or directory, because journals contain
// the data of plans. A missing file is not an error.
func KeepPrivate(path string, mode fs.FileMode) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return domain.Errorf(domain.CodeUnavailable, "check %s: %w", path, err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && Foreign(st.Uid, os.Geteuid()) && (!info.IsDir() || info.Mode()&fs.ModeSticky == 0) {
		return domain.Errorf(domain.CodeForbidden, "%s belongs to another user (%d), who could replace it at any time", path, st.Uid).
			Suggest("change its owner to the user that runs kairosd, or choose another data directory")
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if info.IsDir() && info.Mode()&fs.ModeSticky != 0 {
		return nil // a shared temporary directory; the files in it are private
	}
	if info.Mode().Perm()&0o007 == 0 && info.IsDir() {
		return nil // the administrator made it readable for its group
	}
	if err := os.Chmod(path, mode); err != nil {
		return domain.Errorf(domain.CodeForbidden, "%s is readable by other users, and its mode cannot be changed: %w", path, err).
			Suggest("chmod %o %s, or choose another data directory", mode, path)
	}
	return nil
}

// Foreign reports whether a file belongs to another user than self and root. Root can read it
// anyway, and kairosd as root may use any directory (O02).
func Foreign(owner uint32, self int) bool { return self != 0 && owner != 0 && int(owner) != self }
