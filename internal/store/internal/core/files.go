package core

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/failpoint"
)

// WriteWhole writes a private file that is there completely or not at all.
func WriteWhole(path string, text []byte) error {
	return writeSynced(path, text, func() { failpoint.Hit("file.synced") }, func() { failpoint.Hit("file.renamed") })
}

// writeSynced is writeWhole with a word after each step.
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
