package core

import (
	"database/sql"
	"fmt"
	"net/url"
	"strings"
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
