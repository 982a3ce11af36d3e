package store

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// told is the setting that holds the last audit event that messages were made of.
const told = "notify/told"

// Told is the last audit event that messages were made of; 0: none was yet.
func (s *Store) Told(ctx context.Context) (int64, error) {
	text, err := s.Setting(ctx, told)
	if err != nil || text == "" {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, domain.Errorf(domain.CodeCorrupt, "setting %s: %w", told, err)
	}
	return n, nil
}

// Happenings are audit events with Seq > after in order, without checkpoints and
// without their journal rows, at most limit.
func (s *Store) Happenings(ctx context.Context, after int64, limit int) ([]domain.AuditEvent, error) {
	rows, err := s.q.DeliveryEvents(ctx, after, int64(limit))
	out := make([]domain.AuditEvent, len(rows))
	for i, r := range rows {
		out[i] = domain.AuditEvent{Seq: r.Seq, At: fromMicros(r.At), AuditRecord: domain.AuditRecord{Action: r.Action, Result: r.Result, Reason: r.Reason, Run: r.Run, Detail: domain.RawJSON(r.Detail)}}
	}
	return out, translate(err, "read what happened")
}

// Tell stores messages and that all events up to a sequence number were looked
// at, together. A message like another one of the last quiet time is only
// counted with that one.
func (s *Store) Tell(_ context.Context, upTo int64, messages []domain.Delivery, quiet time.Duration) error {
	return s.exec("store messages", func(ctx context.Context, q *dbsqlc.Queries) error {
		for _, m := range messages {
			if m.Like != "" {
				id, err := q.DeliveryByDedupKey(ctx, m.Channel, m.Like, micros(m.CreatedAt.Add(-quiet)))
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
		return q.SettingPut(ctx, told, strconv.FormatInt(upTo, 10))
	})
}

func insertDelivery(ctx context.Context, q *dbsqlc.Queries, m domain.Delivery) error {
	_, err := q.DeliveryInsert(ctx, dbsqlc.DeliveryInsertParams{ID: m.ID, Channel: m.Channel, Kind: m.Kind, Seq: m.Seq, DedupKey: m.Like, Body: string(m.Body),
		DueAt: micros(m.DueAt), CreatedAt: micros(m.CreatedAt)})
	return err
}

// TellMore stores a message about those that were only counted with another one,
// and sets that count back; it does nothing if there are others by now.
func (s *Store) TellMore(_ context.Context, of domain.Delivery, message domain.Delivery) error {
	return s.exec("store a message", func(ctx context.Context, q *dbsqlc.Queries) error {
		if n, err := q.DeliveryNoMore(ctx, of.ID, of.More); err != nil || n == 0 {
			return err
		}
		return insertDelivery(ctx, q, message)
	})
}

// DueDeliveries are messages to send now, and when the next one is due (zero:
// none waits).
func (s *Store) DueDeliveries(ctx context.Context, now time.Time, limit int) ([]domain.Delivery, time.Time, error) {
	rows, err := s.q.DeliveryDue(ctx, micros(now), int64(limit))
	if err != nil {
		return nil, time.Time{}, translate(err, "read messages")
	}
	next, err := s.q.DeliveryNext(ctx)
	return deliveries(rows), fromMicros(next), translate(err, "read messages")
}

// SettleDelivery notes what came of an attempt.
func (s *Store) SettleDelivery(_ context.Context, d domain.Delivery) error {
	return s.exec("settle a message", func(ctx context.Context, q *dbsqlc.Queries) error {
		n, err := q.DeliveryUpdate(ctx, dbsqlc.DeliveryUpdateParams{Status: string(d.Status), Attempts: int64(d.Attempts), DueAt: micros(d.DueAt),
			EndedAt: micros(d.EndedAt), Error: d.Error, ID: d.ID})
		if err == nil && n == 0 {
			return domain.Errorf(domain.CodeNotFound, "no message %s", d.ID)
		}
		return err
	})
}

// Deliveries are the newest messages of a channel, newest first.
func (s *Store) Deliveries(ctx context.Context, channel string, limit int) ([]domain.Delivery, error) {
	rows, err := s.q.DeliveryList(ctx, channel, int64(limit))
	return deliveries(rows), translate(err, "list messages")
}

// Repeated are messages made at or before a time that stand for more than
// themselves.
func (s *Store) Repeated(ctx context.Context, before time.Time, limit int) ([]domain.Delivery, error) {
	rows, err := s.q.DeliveryWithMore(ctx, micros(before), int64(limit))
	return deliveries(rows), translate(err, "read repeated messages")
}

// ForgetDeliveries removes messages that are over and were made before a time.
func (s *Store) ForgetDeliveries(_ context.Context, before time.Time) error {
	return s.exec("forget messages", func(ctx context.Context, q *dbsqlc.Queries) error { return q.DeliveryPrune(ctx, micros(before)) })
}

func deliveries(rows []dbsqlc.Delivery) []domain.Delivery {
	out := make([]domain.Delivery, len(rows))
	for i, r := range rows {
		out[i] = domain.Delivery{ID: r.ID, Channel: r.Channel, Kind: r.Kind, Seq: r.Seq, Like: r.DedupKey, More: r.Repeats, Body: domain.RawJSON(r.Body), Status: domain.DeliveryStatus(r.Status),
			Attempts: int(r.Attempts), DueAt: fromMicros(r.DueAt), CreatedAt: fromMicros(r.CreatedAt), EndedAt: fromMicros(r.EndedAt), Error: r.Error}
	}
	return out
}
