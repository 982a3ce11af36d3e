package store

import (
	"context"
	"errors"
	"os"
)

// RestoreUntil is a Restore that dies after a number of its renames.
func RestoreUntil(ctx context.Context, backup, path string, renames int) error {
	_, err := restore(ctx, backup, path, RestoreOptions{Replace: true}, func(from, to string) error {
		if renames == 0 {
			return errors.New("died")
		}
		renames--
		return os.Rename(from, to)
	})
	return err
}

// Checkpoint moves the write-ahead log into the database, from another
// connection.
func (s *Store) Checkpoint() error {
	pool, err := openPlain(s.path, "")
	if err != nil {
		return err
	}
	_, err = pool.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	return errors.Join(err, pool.Close())
}
