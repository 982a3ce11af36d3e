package core

import (
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"modernc.org/sqlite"

	"github.com/kairosd/kairosd/internal/store/filelayer"
)

// FileURL returns the URL of a database file, to which options can be appended.
func FileURL(path string) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath()
}

// Marks returns n placeholders for a statement.
func Marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// OpenPlain opens a separate connection to a file, outside the pools.
func OpenPlain(path, more string) (*sql.DB, error) {
	pool, err := sql.Open("sqlite", FileURL(path)+"?_pragma=busy_timeout(5000)"+more)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	pool.SetMaxOpenConns(1)
	return pool, nil
}

// DriverSetup prepares the SQLite driver of this process. Call it before the first database is
// opened.
var DriverSetup = sync.OnceValue(func() error {
	// Closing the file anywhere in this process would release POSIX locks.
	if _, err := sqlite.OFDLocking(true); err != nil {
		return fmt.Errorf("lock by open file description: %w", err)
	}
	return filelayer.Register()
})

// WALAlarm is the size in pages (64 MiB) from which a write-ahead log that cannot be emptied causes
// a warning. A reader with an old snapshot prevents that.
const WALAlarm = 64 << 20 / 4096
