package store

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// AddDeliveries stores messages and the position up to which events were processed, in one
// transaction. A message with the same fingerprint as one within quiet is only counted there.
func (s work) AddDeliveries(_ context.Context, upTo int64, messages []domain.Delivery, quiet time.Duration) error {
	return s.store.exec("store messages", func(ctx context.Context, q *dbsqlc.Queries) error {
		for _, m := range messages {
			if m.GroupKey != "" {
				id, err := q.DeliveryByDedupKey(ctx, m.Channel, m.GroupKey, core.Micros(m.CreatedAt.Add(-quiet)))
				if err == nil {
					if err := q.DeliveryMore(ctx, id); err != nil {
						return err
					}
					continue
				} else if !errors.Is(err, sql.ErrNoRows) {
					return err
				}
			}
			if err := insertDelivery(ctx, q, m); err != nil {
				return err
			}
		}
		if upTo == 0 {
			return nil
		}
		return q.SettingPut(ctx, core.SettingNotified, strconv.FormatInt(upTo, 10))
	})
}

func insertDelivery(ctx context.Context, q *dbsqlc.Queries, m domain.Delivery) error {
	_, err := q.DeliveryInsert(
		ctx,
		dbsqlc.DeliveryInsertParams{ID: m.ID, Channel: m.Channel, Kind: m.Kind, Seq: m.Seq, DedupKey: m.GroupKey, Body: string(m.Body),
			DueAt: core.Micros(m.DueAt), CreatedAt: core.Micros(m.CreatedAt)},
	)
	return err
}

// AddSummary stores a message about messages that were only counted, and resets that count. It does
// nothing if the count has changed in the meantime.
func (s work) AddSummary(_ context.Context, of domain.Delivery, message domain.Delivery) error {
	return s.store.exec("store a message", func(ctx context.Context, q *dbsqlc.Queries) error {
		if n, err := q.DeliveryNoMore(ctx, of.ID, of.More); err != nil || n == 0 {
			return err
		}
		return insertDelivery(ctx, q, message)
	})
}

// SettleDelivery records the outcome of an attempt.
func (s work) SettleDelivery(_ context.Context, d domain.Delivery) error {
	return s.store.exec("store the outcome of a message", func(ctx context.Context, q *dbsqlc.Queries) error {
		n, err := q.DeliveryUpdate(
			ctx,
			dbsqlc.DeliveryUpdateParams{Status: string(d.Status), Attempts: int64(d.Attempts), DueAt: core.Micros(d.DueAt),
				EndedAt: core.Micros(d.EndedAt), Error: d.Error, ID: d.ID},
		)
		if err == nil && n == 0 {
			return domain.Errorf(domain.CodeNotFound, "message %s not found", d.ID)
		}
		return err
	})
}

// ForgetDeliveries deletes settled messages created before a time.
func (s work) ForgetDeliveries(_ context.Context, before time.Time) error {
	return s.store.exec(
		"delete messages",
		func(ctx context.Context, q *dbsqlc.Queries) error { return q.DeliveryPrune(ctx, core.Micros(before)) },
	)
}
