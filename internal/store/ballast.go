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
	// ballastSize is enough to move a full write-ahead log into the database and
	// to remove runs from it.
	ballastSize = walRoom + 8<<20
	// ballastDisks: on a disk smaller than so many times that, none is kept.
	ballastDisks = 8
	// ballastSlack is what must be free beside it before it is laid out again,
	// or the next commits would find the disk full once more.
	ballastSlack  = 4 << 20
	ballastPiece  = 1 << 20
	ballastSuffix = "-ballast" // behind the database's name
)

// ballast is a file that takes space on the database's disk and holds nothing.
// When the disk is full it is dropped, and what it took is for what makes space:
// moving the write-ahead log and removing runs, both of which need some first,
// and for what is small and lets people do that: logins, keys of
// requests, settings. All work is refused until there is enough to lay it out again.
// The zero value keeps none.
type ballast struct {
	path string // empty: none is kept
	size int64  // so far
	low  bool   // there is no space for it
}

// openBallast is the ballast of a database, if its disk is large enough. What was
// laid out before is still there.
func openBallast(database string) (b ballast, err error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(database), &disk); err != nil {
		return b, err
	}
	if int64(disk.Blocks)*int64(disk.Bsize) < ballastDisks*ballastSize {
		return b, nil
	}
	info, err := os.Stat(database + ballastSuffix)
	if err == nil {
		b.size = info.Size()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return b, err
	}
	b.path = database + ballastSuffix
	return b, nil
}

func (b *ballast) laid() bool { return b.path == "" || b.size >= ballastSize }

// lacks reports whether the disk has no space for what is missing of it.
func (b *ballast) lacks() (bool, error) {
	if b.laid() {
		return false, nil
	}
	var disk syscall.Statfs_t
	err := syscall.Statfs(filepath.Dir(b.path), &disk)
	return int64(disk.Bavail)*int64(disk.Bsize) < ballastSize-b.size+ballastSlack, err
}

// grow adds a piece. It stands for what cannot be compressed away: of zeros some
// file systems make nothing. It need not survive a power cut.
func (b *ballast) grow() error {
	f, err := os.OpenFile(b.path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	var seed [32]byte
	binary.NativeEndian.PutUint64(seed[:], uint64(b.size))
	n, err := io.CopyN(io.NewOffsetWriter(f, b.size), rand.NewChaCha8(seed), min(ballastPiece, ballastSize-b.size))
	if err = errors.Join(err, f.Close()); err == nil {
		b.size += n
	}
	return err
}

func (b *ballast) drop() error {
	err := os.Remove(b.path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		b.size, b.low = 0, true
		return nil
	}
	return err
}

// Started says that what a start writes is written. From now on the store keeps
// some space for a full disk, if it is to stay, and refuses work when the disk is
// full.
func (s *Store) Started() {
	s.started.Store(true)
	if s.writer != nil {
		s.writer.submit() // it may be asleep
	}
}

// layBallast adds a piece of the ballast while there is nothing to write, and
// reports whether it did.
func (w *writer) layBallast() bool {
	b := &w.ballast
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
		w.noBallast(err)
	}
	return err == nil
}

// noBallast does without, for good unless all it lacks is space.
func (w *writer) noBallast(err error) {
	err = errors.Join(err, w.ballast.drop())
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		w.s.log.Warn("cannot reserve disk space", "err", err)
		w.ballast = ballast{}
	}
	w.s.fullDisk.Store(w.ballast.low)
}

// dropBallast gives its space to what makes space, and reports whether there was any.
func (w *writer) dropBallast() bool {
	if w.ballast.low || w.ballast.size == 0 {
		return false
	}
	if err := w.ballast.drop(); err != nil {
		w.s.log.Error("release the reserved disk space", "err", err)
		return false
	}
	w.s.log.Warn("disk full; no new work is accepted until there is space")
	w.s.fullDisk.Store(true)
	return true
}

// takeUp lays the ballast out again when there is space: then everything is
// stored again.
func (w *writer) takeUp() {
	b := &w.ballast
	if !b.low {
		return
	}
	low, err := b.lacks()
	for ; err == nil && !low && !b.laid(); err = b.grow() {
	}
	switch {
	case err != nil:
		w.noBallast(err)
	case !low:
		b.low = false
		w.s.log.Info("disk space recovered; accepting new work")
		w.s.fullDisk.Store(false)
	}
}

// errFullDisk refuses what waits until there is space.
func errFullDisk() error {
	return domain.Errorf(domain.CodeNoSpace, "the disk is full").
		Suggest("free space on the disk of the data directory, or delete old runs (kairosd retention, or Settings, " +
			"Retention), which works on a full disk too; nothing that was acknowledged is lost")
}
