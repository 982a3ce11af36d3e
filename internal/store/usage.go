package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// Usage returns the space that the database uses, and the free space.
func (s retention) Usage(ctx context.Context) (domain.Storage, error) {
	var u domain.Storage
	if s.store.fullDisk.Load() {
		u.Needs = reserveSize + reserveSlack
	}
	for _, f := range []struct {
		path string
		into *int64
	}{{s.store.path, &u.Database}, {s.store.path + "-wal", &u.WAL}} {
		info, err := os.Stat(f.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return u, domain.Errorf(domain.CodeUnavailable, "check %s: %w", f.path, err)
		}
		*f.into = info.Size()
	}
	if moved := s.store.moved.Load(); moved != 0 {
		u.MovedAt = time.UnixMicro(moved).UTC()
	}
	var pages, size int64
	if err := s.store.read.QueryRowContext(ctx, "SELECT freelist_count, page_size FROM pragma_freelist_count, pragma_page_size").
		Scan(&pages, &size); err != nil {
		return u, core.Translate(err, "count free pages")
	}
	u.Unused = pages * size
	var disk syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(s.store.path), &disk); err != nil {
		return u, domain.Errorf(domain.CodeUnavailable, "check the disk: %w", err)
	}
	u.Free, u.Disk = int64(disk.Bavail)*int64(disk.Bsize), int64(disk.Blocks)*int64(disk.Bsize)
	return u, nil
}

// size is the size of the database in bytes after the write-ahead log is moved into it.
func (s retention) size(ctx context.Context) (int64, error) {
	var pages, size int64
	err := s.store.read.QueryRowContext(ctx, "SELECT page_count, page_size FROM pragma_page_count, pragma_page_size").Scan(&pages, &size)
	return pages * size, core.Translate(err, "count pages")
}
