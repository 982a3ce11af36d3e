package store

import (
	"time"

	"modernc.org/sqlite"

	"github.com/kairosd/kairosd/internal/failpoint"
)

const (
	// walPages is when the writer moves the write-ahead log into the database.
	// Larger means fewer writes of pages that change in every commit, and a
	// longer pause when it comes.
	walPages = 4000
	// walAlarm is when a log that cannot be emptied, because a reader holds an
	// old snapshot, is worth a warning: 64 MiB.
	walAlarm = 64 << 20 / 4096
)

// walGauge counts the pages that went into the write-ahead log since it was
// last moved into the database.
type walGauge struct {
	pages  int
	warned time.Time
}

// checkpointIfDue empties the write-ahead log when it has grown. The writer does
// it itself, because SQLite's automatic way swallows every error.
func (w *writer) checkpointIfDue() {
	err := w.conn.Raw(func(c any) error {
		n, _, err := c.(sqlite.DBStatus).Status(sqlite.DBStatusCacheWrite, true)
		w.wal.pages += n
		return err
	})
	if err != nil {
		w.s.log.Error("count written pages", "err", err)
		return
	}
	if w.wal.pages < w.s.walPages {
		return
	}
	if err := w.checkpoint(); err != nil {
		w.s.log.Error("move the write-ahead log into the database", "err", err)
		if fatal(err) {
			w.fail(err)
		}
	}
}

func (w *writer) checkpoint() error {
	failpoint.Hit("wal.before")
	var busy, log, moved int
	if err := w.emptyWAL.QueryRowContext(w.ctx).Scan(&busy, &log, &moved); err != nil {
		return err
	}
	failpoint.Hit("wal.moved")
	w.wal.pages = min(log-moved, w.s.walPages/2) // not again in every commit while a reader is in the way
	if now := w.s.now(); log > walAlarm && now.Sub(w.wal.warned) > time.Minute {
		w.wal.warned = now
		w.s.log.Warn("the write-ahead log grows: a reader holds an old snapshot", "pages", log, "moved", moved)
	}
	return nil
}
