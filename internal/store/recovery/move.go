package recovery

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// renamer is os.Rename, or a replacement in tests.
type renamer func(from, to string) error

func copyFile(from, to string) error { return copyWith(from, to, func(int64, int64) {}) }

// copyWith is copyFile with progress in bytes.
func copyWith(from, to string, report func(done, of int64)) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = copyReporting(out, in, info.Size(), report)
	if err := errors.Join(err, out.Sync(), out.Close()); err != nil {
		return domain.Errorf(domain.CodeUnavailable, "copy %s: %w", from, err)
	}
	return nil
}

func copyReporting(out io.Writer, in io.Reader, size int64, report func(done, of int64)) error {
	report(0, size)
	for done := int64(0); ; {
		n, err := io.CopyN(out, in, copyPiece)
		done += n
		report(done, max(done, size))
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// copyPiece is how much is copied between two progress reports.
const copyPiece = 16 << 20

// finishRestore completes a restore whose new database is ready: it moves the old files away and
// the new ones into place. It completes what an earlier call could not finish, and does nothing
// without a restore. The caller holds the lock.
func finishRestore(path string, rename renamer) error {
	dir, name := filepath.Dir(path), filepath.Base(path)
	ready := filepath.Join(dir, core.RestoredDir)
	text, err := os.ReadFile(filepath.Join(ready, core.PreviousFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return domain.Errorf(domain.CodeUnavailable, "finish a restore: %w", err)
	}
	previous := filepath.Join(dir, filepath.Base(string(text)))
	if err := moveAll(ready, previous, dir, name, rename); err != nil {
		return domain.Errorf(domain.CodeUnavailable, "finish a restore: %w", err).
			Suggest("%s contains the restored database, %s the old one", ready, previous)
	}
	return nil
}

func moveAll(ready, previous, dir, name string, rename renamer) error {
	there := func(p string) bool { _, err := os.Stat(p); return err == nil }
	if there(filepath.Join(ready, name)) { // the old database is in its place, or already moved
		kept, err := placeEncrypted(ready, previous, dir, name, rename)
		if err != nil {
			return err
		}
		for _, suffix := range []string{"-shm", "-wal", "", ".anchor", ".key"} {
			old := filepath.Join(dir, name+suffix)
			if suffix == "" && kept != name { // the new one replaces it
				continue
			}
			if !there(old) || suffix != "-shm" && suffix != "-wal" && !there(filepath.Join(ready, name+suffix)) {
				continue // nothing there, or the new one already
			}
			if err := os.MkdirAll(previous, 0o700); err != nil {
				return err
			}
			if err := rename(old, filepath.Join(previous, name+suffix)); err != nil {
				return err
			}
			failpoint.Hit("restore.aside")
		}
		if manifest := filepath.Join(ready, previousManifest); there(manifest) && there(previous) {
			if err := rename(manifest, filepath.Join(previous, kept+ManifestSuffix)); err != nil {
				return err
			}
		}
		if there(previous) {
			if err := errors.Join(core.SyncDir(previous), core.SyncDir(dir)); err != nil {
				return err
			}
		}
		for _, suffix := range []string{".key", ".anchor", ""} { // the database last: its absence means that all files are moved
			if from := filepath.Join(ready, name+suffix); there(from) {
				if err := rename(from, filepath.Join(dir, name+suffix)); err != nil {
					return err
				}
				failpoint.Hit("restore.placed")
			}
		}
		if err := core.SyncDir(dir); err != nil {
			return err
		}
	}
	failpoint.Hit("restore.moved")
	if err := os.RemoveAll(ready); err != nil {
		return err
	}
	return core.SyncDir(dir)
}
