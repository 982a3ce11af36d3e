package store

import (
	"bytes"
	"errors"
	"os"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

const (
	// walPages is the size at which the writer moves the write-ahead log into the database. A
	// larger value means fewer writes of pages that change in every commit, and a longer pause.
	walPages = 4000
	// walRoom is the size of the log when it is moved, including the last commit: frames of a page
	// and its header.
	walRoom  = (walPages + walPages/8) * (4096 + 24)
	walPiece = 1 << 20 // allocated at a time
	// indexRoom is the size of SQLite's index of such a log. If a commit finds space for the log
	// but not for the index, its outcome is unknown.
	indexRoom = (walRoom/4096/4096 + 2) * (32 << 10)
)

// walGauge counts the pages written to the write-ahead log since it was last moved.
type walGauge struct {
	pages  int
	warned time.Time
	short  bool // its space is not allocated yet
	full   bool // a commit found no space for it, and it was not emptied since
	// unanchored reports that the anchor has no event of the log, so that the loss of the log would
	// not be noticed.
	unanchored bool
	// emptied identifies the log when all of it was in the database, until the next commit. That
	// commit starts the log again, or appends to it if a reader still uses it.
	emptied []byte
}

// layOut allocates a piece of the log's space while there is nothing to write, and reports whether
// it did. A commit that extends a file also waits for the file system's journal, which doubles its
// time. SQLite reads zeros as the end of a log and of its index, and only the writer's goroutine
// extends them.
func (w *writer) layOut() bool {
	if !w.wal.short {
		return false
	}
	more, err := w.lengthen("-shm", indexRoom)
	if !more && err == nil {
		more, err = w.lengthen("-wal", walRoom)
	}
	if err != nil {
		w.s.log.Warn("allocate the write-ahead log", "err", err)
	}
	w.wal.short = more && err == nil
	return w.wal.short
}

// zeros is never written, so it uses no memory.
var zeros [walPiece]byte

// lengthen appends a piece of zeros to a file until it has size bytes. It returns false if it has
// that size. If the file cannot grow, it does not change. The file stays open as long as the store,
// because closing it would release all locks of this process on it.
func (w *writer) lengthen(suffix string, size int64) (_ bool, err error) {
	f := w.s.held[suffix]
	if f == nil {
		if f, err = os.OpenFile(w.s.path+suffix, os.O_RDWR, 0); err != nil {
			return false, err
		}
		w.s.held[suffix] = f
	}
	info, err := f.Stat()
	if err != nil || info.Size() >= size {
		return false, err
	}
	if _, err = f.WriteAt(zeros[:min(walPiece, size-info.Size())], info.Size()); err == nil {
		err = f.Sync()
	}
	if err != nil {
		err = errors.Join(err, f.Truncate(info.Size()))
	}
	return true, err
}

// checkpointIfDue moves the write-ahead log into the database when it is large. The writer does
// this itself, because SQLite's automatic checkpoint ignores errors.
func (w *writer) checkpointIfDue() {
	n, err := w.c.Written()
	if err != nil {
		w.s.log.Error("count written pages", "err", err)
		return
	}
	w.wal.pages += n
	if n > 0 && w.wal.emptied != nil {
		if bytes.Equal(w.wal.emptied, w.salts()) { // the log grows; try again soon
			w.wal.pages = max(w.wal.pages, w.s.walPages*7/8)
		}
		w.wal.emptied = nil
	}
	if w.wal.pages < w.s.walPages {
		return
	}
	err = w.checkpoint()
	if core.Primary(err) == lib.SQLITE_FULL && w.dropReserve() {
		err = w.checkpoint()
	}
	if now := w.s.now(); err != nil && (core.Fatal(err) || now.Sub(w.wal.warned) > time.Minute) {
		w.wal.warned = now
		w.s.log.Error("checkpoint the write-ahead log", "err", err)
	}
	if err != nil && core.Fatal(err) {
		w.fail(err)
	}
}

// salts identifies a log: bytes 16 to 23 of its header, which change when it starts again
// (sqlite.org/walformat.html). It is nil if they cannot be read.
func (w *writer) salts() []byte {
	f, b := w.s.held["-wal"], make([]byte, 8)
	if f == nil {
		return nil
	}
	if _, err := f.ReadAt(b, 16); err != nil {
		return nil
	}
	return b
}

// makeRoom empties a log that found no space to grow. While the database has no space for the
// content of the log, nothing is written. Otherwise the log would take any space that becomes free,
// and neither could ever be moved.
func (w *writer) makeRoom() error {
	if !w.wal.full {
		return nil
	}
	err := w.checkpoint()
	if err != nil && core.Fatal(err) {
		w.fail(err)
	}
	return err
}

func (w *writer) checkpoint() error {
	failpoint.Hit("wal.before")
	var busy, log, moved int
	if err := w.emptyWAL.QueryRowContext(w.ctx).Scan(&busy, &log, &moved); err != nil {
		return err
	}
	failpoint.Hit("wal.moved")
	w.s.moved.Store(w.s.now().UnixMicro())
	w.wal.full = w.wal.full && moved < log
	w.wal.unanchored = w.wal.unanchored || moved > 0
	if moved == log {
		w.wal.emptied = w.salts()
	}
	w.wal.pages = min(log-moved, w.s.walPages/2) // not in every commit while a reader prevents it
	if now := w.s.now(); log > core.WALAlarm && now.Sub(w.wal.warned) > time.Minute {
		w.wal.warned = now
		w.s.log.Warn("the write-ahead log is growing because a reader holds an old snapshot", "pages", log, "moved", moved)
	}
	return nil
}
