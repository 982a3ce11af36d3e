package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// factorName is the name to which the encryption of a user's second factor is bound.
func factorName(userID string) string { return "second factor of user " + userID }

// SecondFactor returns the stored second factor of a user, or "". It returns CodeCorrupt if another
// program wrote it.
func (s accounts) SecondFactor(ctx context.Context, userID string) (string, error) {
	sealed, err := s.store.q.SecondFactorGet(ctx, userID)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	} else if err != nil {
		return "", core.Translate(err, "read a second factor")
	}
	return s.store.unsealText(factorName(userID), sealed)
}

// ChangeSecondFactor replaces the stored second factor of a user with edit, in one transaction; ""
// means none. It works on a full disk, because a login must mark codes as used. edit may be called
// more than once.
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
