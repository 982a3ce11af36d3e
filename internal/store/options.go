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

// Options of Open. The zero value is a writable store without a log.
type Options struct {
	// Logger receives storage faults and slow commits. Nil discards them.
	Logger *slog.Logger
	// ReadOnly opens without the lock, to read a store that another process writes. All writes fail
	// with CodeUnavailable.
	ReadOnly bool
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
	// AuditKey is the content of the key file, for a copy without a key file. Nil means the file
	// next to the database.
	AuditKey []byte
	// Restored is the backup that this database was made from. Its runs are then held.
	Restored string
	// Stay is for a long-running process. It allocates the space of the write-ahead log in advance:
	// 18 MB, which the log would occupy anyway. It also keeps a reserve file of 27 MB next to the
	// database, except on a very small disk, so that runs can be deleted when the disk is full.
	Stay bool

	// NewKey creates a new key file if the one next to the database is missing. Without it, a
	// database with a missing key file is not opened for writing. Earlier data cannot be verified
	// then, so all access ends and execution is held.
	NewKey bool

	// Keyless reports that the key of the audit log is lost. All access ends and execution is held.
	Keyless bool
	// Migrations create the schema; nil means those of this binary.
	Migrations fs.FS

	lock *os.File // taken by Lock

	// For tests.
	vfs        string // SQLite's file layer for writing; empty: filelayer's
	walPages   int    // 0: walPages
	watchEvery time.Duration
	rows       int // 0: query.Rows
	normal     bool
}

// SynchronousNormal is for benchmarks against engines that do not sync at each commit. A power
// failure may lose acknowledged data. Nothing else uses it.
func (o Options) SynchronousNormal() Options {
	o.normal = true
	return o
}

// Through is for proofs. The database is written through another SQLite file layer, and the
// write-ahead log is emptied after walPages pages. The files are checked only once an hour, so that
// days of virtual time pass quickly.
func (o Options) Through(vfs string, walPages int) Options {
	o.vfs, o.walPages, o.watchEvery = vfs, walPages, time.Hour
	return o
}

// VFS is the SQLite file layer set by Through, or "" for the default.
func (o Options) VFS() string { return o.vfs }

// Examining is for tests of searches: a request reads at most this many rows.
func (o Options) Examining(rows int) Options {
	o.rows = rows
	return o
}

// Files are the migrations to use.
func (o Options) Files() fs.FS {
	if o.Migrations == nil {
		return db.Migrations()
	}
	return o.Migrations
}

// Lock creates the data directory of the database at path and locks the database, for a caller that
// works on its files before Open. Open then takes over the lock. A caller that does not call Open
// calls Unlock.
func (o Options) Lock(path string) (Options, error) {
	s := newStore(path, o)
	err := s.takeLock()
	o.lock = s.lock
	return o, err
}

// Unlock releases the lock of Lock.
func (o Options) Unlock() error { return core.ReleaseLock(o.lock) }
