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
