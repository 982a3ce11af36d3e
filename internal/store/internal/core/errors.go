package core

import (
	"context"
	"database/sql"
	"errors"

	lib "modernc.org/sqlite/lib"

	"github.com/kairosd/kairosd/internal/domain"
)

// Translate converts a driver's error to a domain error. It is the only place that uses SQLite
// result codes. Domain errors pass unchanged.
func Translate(err error, doing string) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*domain.Error](err); ok {
		return err
	}
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Errorf(domain.CodeNotFound, "%s: nothing found", doing)
	}
	if errors.Is(err, ErrMoved) {
		return domain.Errorf(domain.CodeConflict, "%s: %w", doing, err)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	code := domain.CodeInternal
	switch Primary(err) {
	case lib.SQLITE_FULL:
		code = domain.CodeNoSpace
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		code = domain.CodeCorrupt
	case lib.SQLITE_CONSTRAINT:
		code = domain.CodeConflict
	case lib.SQLITE_IOERR, lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		code = domain.CodeUnavailable
	case lib.SQLITE_TOOBIG:
		code = domain.CodeTooLarge
	}
	e := domain.Errorf(code, "%s: %w", doing, err)
	switch code {
	case domain.CodeNoSpace:
		e.Suggestion = "free space on the disk of the data directory; no acknowledged work is lost"
	case domain.CodeCorrupt:
		e.Suggestion = "keep the files as they are; restore a backup with kairosd restore --force BACKUP, or save what can " +
			"be read with kairosd doctor --salvage DIR"
	}
	return e
}

// Primary returns SQLite's primary result code, or 0 for other errors.
func Primary(err error) int {
	// This covers the driver's errors, and those of package statement.
	if e, ok := errors.AsType[interface {
		error
		Code() int
	}](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// Fatal reports errors after which the outcome of a commit is unknown, or the file is not reliable.
// The store then stops (G14).
func Fatal(err error) bool {
	switch Primary(err) {
	case lib.SQLITE_IOERR, lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN:
		return true
	}
	return false
}

// ErrMoved reports that a run's row differs from the writer's copy.
var ErrMoved = errors.New("row changed concurrently")
