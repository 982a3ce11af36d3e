package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// factorName is what the second factor of a user is bound to when it is encrypted.
func factorName(userID string) string { return "second factor of user " + userID }

// SecondFactor gives what SetSecondFactor stored for a user, "" for none; CodeCorrupt
// if something other than kairosd wrote it.
func (s accounts) SecondFactor(ctx context.Context, userID string) (string, error) {
	sealed, err := s.store.q.SecondFactorGet(ctx, userID)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	} else if err != nil {
		return "", core.Translate(err, "read a second factor")
	}
	return s.store.unsealText(factorName(userID), sealed)
}

// ChangeSecondFactor lets edit replace what is stored of a user's second factor ("": they
// have none), in one transaction. It is done also when the disk is full, because that is
// how a second factor uses up its codes. edit may be called more than once.
func (s accounts) ChangeSecondFactor(_ context.Context, userID string, edit func(value string) (string, error)) error {
	_, _, err := s.store.Do(Operation{Name: "change second factor", EvenFull: true}, func(tx *Tx) (string, error) {
		value, err := tx.SecondFactor(userID)
		if err != nil {
			return "", err
		}
		next, err := edit(value)
		if err != nil || next == value {
			return "", err
		}
		return "", tx.SetSecondFactor(userID, next)
	})
	return err
}
