package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/kairosd/kairosd/internal/domain"
)

// KeepOwner gives files that root created to the owner of their directory, so that a daemon of that
// user can open them. For other users, it does nothing.
func KeepOwner(dir string, paths ...string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return domain.Errorf(domain.CodeUnavailable, "find the owner of %s: %w", dir, err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid == 0 {
		return nil
	}
	for _, p := range paths {
		err := filepath.WalkDir(p, func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				err = os.Lchown(path, int(owner.Uid), int(owner.Gid))
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return domain.Errorf(domain.CodeUnavailable, "change the owner of %s to that of %s: %w", p, dir, err).
				Suggest("run as root: chown -R --reference=%s %s", dir, p)
		}
	}
	return nil
}
