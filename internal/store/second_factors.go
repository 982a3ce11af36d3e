package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
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

// SetSecondFactor stores the second factor of a user encrypted; "" removes it. said is
// recorded in the same transaction. It is stored also when the disk is full, because
// that is how a second factor uses up its codes.
func (s accounts) SetSecondFactor(_ context.Context, userID, value string, said ...domain.AuditRecord) error {
	sealed := ""
	if value != "" {
		var err error
		if sealed, err = s.store.sealText(factorName(userID), value); err != nil {
			return err
		}
	}
	return s.store.execAccess("store a second factor", said, func(ctx context.Context, q *dbsqlc.Queries) error {
		if value == "" {
			return q.SecondFactorDelete(ctx, userID)
		}
		return q.SecondFactorPut(ctx, userID, sealed)
	})
}
