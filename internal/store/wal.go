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
	// walPages is when the writer moves the write-ahead log into the database.
	// Larger means fewer writes of pages that change in every commit, and a
	// longer pause when it comes.
	walPages = 4000
	// walRoom is what the log takes when it is moved, the commit that makes it
	// due included: frames of a page and its header.
	walRoom  = (walPages + walPages/8) * (4096 + 24)
	walPiece = 1 << 20 // of it is laid out at a time
	// indexRoom is what SQLite's index of such a log takes: a commit that finds
	// no space for it when the log has some is one of unknown outcome.
	indexRoom = (walRoom/4096/4096 + 2) * (32 << 10)
)

// walGauge counts the pages that went into the write-ahead log since it was
// last moved into the database.
type walGauge struct {
	pages  int
	warned time.Time
	short  bool // its room is not laid out yet
	full   bool // a commit found no space for it, and it was not emptied since
	// unanchored says that nothing in the log is known to the anchor: were the log
	// lost, nobody would miss it.
	unanchored bool
	// emptied is what the log was known by when all of it was in the database,
	// until the next commit. That one begins it anew, or behind what is there if
	// a reader still uses it.
	emptied []byte
}

// layOut lays out a piece of the log's room while there is nothing to write,
// and reports whether it did: a commit that makes a file longer waits for the
// file system's own journal too, which takes as long again. SQLite reads zeros
// as the end of a log and of its index, and nobody but the writer's goroutine
// makes them longer.
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

// zeros is never written to: it takes no memory.
var zeros [walPiece]byte

// lengthen adds a piece of zeros to a file until it has size bytes; false: it
// had them. A file that cannot grow stays as it was. The file stays open as long
// as the store: closing it would drop the locks that this process has on it
// through SQLite, whoever took them.
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

// checkpointIfDue empties the write-ahead log when it has grown. The writer does
// it itself, because SQLite's automatic way swallows every error.
func (w *writer) checkpointIfDue() {
	n, err := w.c.Written()
	if err != nil {
		w.s.log.Error("count written pages", "err", err)
		return
	}
	w.wal.pages += n
	if n > 0 && w.wal.emptied != nil {
		if bytes.Equal(w.wal.emptied, w.salts()) { // the log grows: try again soon
			w.wal.pages = max(w.wal.pages, w.s.walPages*7/8)
		}
		w.wal.emptied = nil
	}
	if w.wal.pages < w.s.walPages {
		return
	}
	err = w.checkpoint()
	if core.Primary(err) == lib.SQLITE_FULL && w.dropBallast() {
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

// salts is what a log is known by, nil if that cannot be read: bytes 16 to 23 of
// its header change when it begins anew (sqlite.org/walformat.html).
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

// makeRoom empties a log that found no space to grow. As long as the database
// itself has no space for what is in the log nothing is written: space that
// becomes free is for the database, or the log would take it and neither could
// ever move.
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
	w.wal.pages = min(log-moved, w.s.walPages/2) // not again in every commit while a reader is in the way
	if now := w.s.now(); log > core.WALAlarm && now.Sub(w.wal.warned) > time.Minute {
		w.wal.warned = now
		w.s.log.Warn("the write-ahead log is growing because a reader holds an old snapshot", "pages", log, "moved", moved)
	}
	return nil
}
