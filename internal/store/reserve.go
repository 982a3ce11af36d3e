package store

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"

	"github.com/kairosd/kairosd/internal/domain"
)

const (
	// reserveSize is enough space to move a full write-ahead log into the database and to delete
	// runs.
	reserveSize = walRoom + 8<<20
	// reserveDisks is the smallest size of a disk with a reserve file, in multiples of reserveSize.
	reserveDisks = 8
	// reserveSlack is the additional free space required before the reserve file is created again.
	// Without it, the next commits would fill the disk again.
	reserveSlack  = 4 << 20
	reservePiece  = 1 << 20
	reserveSuffix = "-reserve" // appended to the database's name
)

// reserve is a file that occupies disk space and has no content. When the disk is full, it is
// deleted. Its space is for work that frees space, which itself needs some: moving the write-ahead
// log and deleting runs. It is also for small writes that operators need then: logins, idempotency
// keys, and settings. All other work is rejected until there is enough space to create the file
// again. The zero value keeps no file.
type reserve struct {
	path string // empty: no file
	size int64  // current size
	low  bool   // there is not enough space for it
}

// openReserve opens the reserve file of a database if its disk is large enough. An existing file is
// used.
func openReserve(database string) (b reserve, err error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(database), &disk); err != nil {
		return b, err
	}
	if int64(disk.Blocks)*int64(disk.Bsize) < reserveDisks*reserveSize {
		return b, nil
	}
	info, err := os.Stat(database + reserveSuffix)
	if err == nil {
		b.size = info.Size()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return b, err
	}
	b.path = database + reserveSuffix
	return b, nil
}

func (b *reserve) laid() bool { return b.path == "" || b.size >= reserveSize }

// lacks reports whether the disk has no space for the missing part of the file.
func (b *reserve) lacks() (bool, error) {
	if b.laid() {
		return false, nil
	}
	var disk syscall.Statfs_t
	err := syscall.Statfs(filepath.Dir(b.path), &disk)
	return int64(disk.Bavail)*int64(disk.Bsize) < reserveSize-b.size+reserveSlack, err
}

// grow adds a piece of random bytes, because some file systems do not store zeros. The piece need
// not survive a power failure.
func (b *reserve) grow() error {
	f, err := os.OpenFile(b.path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	var seed [32]byte
	binary.NativeEndian.PutUint64(seed[:], uint64(b.size))
	n, err := io.CopyN(io.NewOffsetWriter(f, b.size), rand.NewChaCha8(seed), min(reservePiece, reserveSize-b.size))
	if err = errors.Join(err, f.Close()); err == nil {
		b.size += n
	}
	return err
}

func (b *reserve) drop() error {
	err := os.Remove(b.path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		b.size, b.low = 0, true
		return nil
	}
	return err
}

// Started reports that the writes of a start are done. From now on, a store that stays open keeps a
// reserve file, and rejects work when the disk is full.
func (s *Store) Started() {
	s.started.Store(true)
	if s.writer != nil {
		s.writer.submit() // it may be waiting
	}
}

// growReserve adds a piece to the reserve file while there is nothing to write. It reports whether
// it did.
func (w *writer) growReserve() bool {
	b := &w.reserve
	if b.low || b.laid() || !w.s.started.Load() {
		return false
	}
	low, err := b.lacks()
	if low {
		err = errors.Join(err, syscall.ENOSPC)
	}
	if err == nil {
		err = b.grow()
	}
	if err != nil {
		w.noReserve(err)
	}
	return err == nil
}

// noReserve stops using a reserve file, permanently unless the disk is full.
func (w *writer) noReserve(err error) {
	err = errors.Join(err, w.reserve.drop())
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		w.s.log.Warn("cannot reserve disk space", "err", err)
		w.reserve = reserve{}
	}
	w.s.fullDisk.Store(w.reserve.low)
}

// dropReserve deletes the reserve file, and reports whether there was one.
func (w *writer) dropReserve() bool {
	if w.reserve.low || w.reserve.size == 0 {
		return false
	}
	if err := w.reserve.drop(); err != nil {
		w.s.log.Error("release the reserved disk space", "err", err)
		return false
	}
	w.s.log.Warn("disk full; no new work is accepted until there is space")
	w.s.fullDisk.Store(true)
	return true
}

// recoverSpace creates the reserve file again when there is space. The store then accepts all work
// again.
func (w *writer) recoverSpace() {
	b := &w.reserve
	if !b.low {
		return
	}
	low, err := b.lacks()
	for ; err == nil && !low && !b.laid(); err = b.grow() {
	}
	switch {
	case err != nil:
		w.noReserve(err)
	case !low:
		b.low = false
		w.s.log.Info("disk space recovered; accepting new work")
		w.s.fullDisk.Store(false)
	}
}

// errFullDisk rejects work until there is space.
func errFullDisk() error {
	return domain.Errorf(domain.CodeNoSpace, "the disk is full").
		Suggest("free space on the disk of the data directory, or delete old runs with kairosd retention or in Settings, " +
			"Retention; both work on a full disk, and no acknowledged work is lost")
}
