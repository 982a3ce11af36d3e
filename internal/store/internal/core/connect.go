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

// FileURL is the URL of a database file, to which options can be added.
func FileURL(path string) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath()
}

// Marks are n placeholders of a statement.
func Marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// OpenPlain opens a connection of its own to a file, outside the pools.
func OpenPlain(path, more string) (*sql.DB, error) {
	pool, err := sql.Open("sqlite", FileURL(path)+"?_pragma=busy_timeout(5000)"+more)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	pool.SetMaxOpenConns(1)
	return pool, nil
}

// DriverSetup prepares the SQLite driver of this process; it is to be called before
// the first database is opened.
var DriverSetup = sync.OnceValue(func() error {
	// POSIX locks would be dropped by any close of the file in this process.
	if _, err := sqlite.OFDLocking(true); err != nil {
		return fmt.Errorf("lock by open file description: %w", err)
	}
	return filelayer.Register()
})

// WALAlarm is when a log that cannot be emptied, because a reader holds an
// old snapshot, is worth a warning, in pages: 64 MiB.
const WALAlarm = 64 << 20 / 4096
