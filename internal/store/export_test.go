package store

import (
	"context"
	"errors"

	"github.com/kairosd/kairosd/db"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// Checkpoint moves the write-ahead log into the database from another connection.
func (s *Store) Checkpoint() error {
	pool, err := core.OpenPlain(s.path, "")
	if err != nil {
		return err
	}
	_, err = pool.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	return errors.Join(err, pool.Close())
}

// MigrationSums returns the hashes of this binary's migrations.
func MigrationSums() (map[string]string, error) { return core.MigrationSums(db.Migrations()) }

// Examine and Diagnose are Verify and Doctor of package recovery, which the tests inside
// this package cannot import.
var Examine, Diagnose func(context.Context, *Store) ([]domain.Check, error)

// CountFailures makes the next FailureGroups count again.
func (s *Store) CountFailures() { s.failures.moved() }

// AckFailures acknowledges a group like the application does.
func (s *Store) AckFailures(ctx context.Context, by domain.Actor, ref domain.FailureRef, note string) (int64, error) {
	return s.markFailures(ctx, by, ref, false, func(tx *Tx, f FailedRuns, n int64) error {
		return tx.Attention().AckFailures(f, ref, n, note)
	})
}

// UnackFailures withdraws an acknowledgment like the application does.
func (s *Store) UnackFailures(ctx context.Context, by domain.Actor, ref domain.FailureRef) (int64, error) {
	return s.markFailures(ctx, by, ref, true, func(tx *Tx, f FailedRuns, _ int64) error { return tx.Attention().UnackFailures(f, ref) })
}

func (s *Store) markFailures(
	ctx context.Context,
	by domain.Actor,
	ref domain.FailureRef,
	on bool,
	first func(*Tx, FailedRuns, int64) error,
) (total int64, err error) {
	batch, err := s.FailedRuns(ctx, ref, on)
	for rest, begun := batch, false; err == nil && (rest.Len() > 0 || !begun); begun = true {
		batch, rest = rest.Split()
		var n int64
		_, _, err = s.Do(Operation{Name: "acknowledge-failures", By: by, At: s.now()}, func(tx *Tx) (string, error) {
			var err error
			if n, err = tx.Attention().Set(batch, on); err != nil || begun {
				return "", err
			}
			switch {
			case n+int64(rest.Len()) > 0:
			case on:
				return "", nil
			default:
				return "", domain.Errorf(domain.CodeConflict, "none of them needs attention")
			}
			return "", first(tx, batch, n+int64(rest.Len()))
		})
		total += n
	}
	return total, err
}
