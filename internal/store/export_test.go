package store

import (
	"context"
	"errors"

	"github.com/kairosd/kairosd/db"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// Checkpoint moves the write-ahead log into the database, from another
// connection.
func (s *Store) Checkpoint() error {
	pool, err := core.OpenPlain(s.path, "")
	if err != nil {
		return err
	}
	_, err = pool.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	return errors.Join(err, pool.Close())
}

// MigrationSums are the hashes of this binary's migrations.
func MigrationSums() (map[string]string, error) { return core.MigrationSums(db.Migrations()) }

// Examine and Diagnose are Verify and Doctor of package recovery, which the tests inside
// this package cannot import.
var Examine, Diagnose func(context.Context, *Store) ([]domain.Check, error)

// CountFailures makes the next FailureGroups count anew.
func (s *Store) CountFailures() { s.failures.moved() }
