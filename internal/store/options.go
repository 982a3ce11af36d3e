package store

import (
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/kairosd/kairosd/db"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

//go:generate env CGO_ENABLED=0 go -C ../.. tool -modfile=tools/go.mod sqlc generate

// Options of Open; the zero value is a writable store that logs nothing.
type Options struct {
	// Logger hears of storage faults and slow commits; nil discards.
	Logger *slog.Logger
	// ReadOnly opens without the lock, for looking at a store that another
	// process writes. Everything that writes fails with CodeUnavailable.
	ReadOnly bool
	// Now tells the time; nil means time.Now.
	Now func() time.Time
	// AuditKey is the content of the key file, for a copy that has none beside it;
	// nil means the one beside the database.
	AuditKey []byte
	// Restored names the backup that this database was made from: its runs are
	// then held (G15).
	Restored string
	// Stay is for a process that stays. It lays out the write-ahead log's room
	// ahead of its use: 18 MB of disk, which it would take anyway as it works. And
	// it keeps 27 MB in a file beside the database, unless the disk is a very small
	// one, so that runs can be removed when it is full.
	Stay bool

	// NewKey makes a new key file where the one beside the database is lost; without it
	// a database whose key file is missing is not opened for writing. Nothing of before
	// can be authenticated then: all access ends, and execution is held.
	NewKey bool

	// Keyless says that nobody has the key that the audit log was written with: all
	// access ends, and execution is held.
	Keyless bool
	// Migrations are those that the schema is made with; nil: those of this binary.
	Migrations fs.FS

	lock *os.File // taken by Lock

	// For tests.
	vfs        string // SQLite's file layer for writing; empty: filelayer's
	walPages   int    // 0: walPages
	watchEvery time.Duration
	rows       int // 0: query.Rows
	normal     bool
}

// SynchronousNormal is for benchmarks beside engines that do not sync at each commit: a
// power cut may lose what was acknowledged. Nothing else uses it.
func (o Options) SynchronousNormal() Options {
	o.normal = true
	return o
}

// Through is for proofs: the database is written through another file layer of
// SQLite's, and its write-ahead log is emptied after that many pages. Whether
// the files are still there is looked at once an hour only, so that days of
// virtual time pass quickly.
func (o Options) Through(vfs string, walPages int) Options {
	o.vfs, o.walPages, o.watchEvery = vfs, walPages, time.Hour
	return o
}

// VFS is SQLite's file layer that Through has set; empty: the usual one.
func (o Options) VFS() string { return o.vfs }

// Examining is for tests of searches: a request examines at most so many rows.
func (o Options) Examining(rows int) Options {
	o.rows = rows
	return o
}

// Files are the migrations to work with.
func (o Options) Files() fs.FS {
	if o.Migrations == nil {
		return db.Migrations()
	}
	return o.Migrations
}

// Lock makes the data directory of the database at path and locks the database, for
// a caller that has work to do on its files before Open, which then takes the lock
// over. A caller that does not come to Open calls Unlock.
func (o Options) Lock(path string) (Options, error) {
	s := newStore(path, o)
	err := s.takeLock()
	o.lock = s.lock
	return o, err
}

// Unlock gives up what Lock took.
func (o Options) Unlock() error { return core.ReleaseLock(o.lock) }
