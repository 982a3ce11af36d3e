package store

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/incoming"
	"github.com/kairosd/kairosd/internal/store/internal/spend"
)

// Incoming returns what arrives from other systems in the transaction.
func (tx *Tx) Incoming() incoming.Tx { return incoming.New(tx.w.ctx, tx.w.q, tx.op.At) }

// deletedAtOnce limits the rows of each kind that one transaction deletes.
const deletedAtOnce = 1000

// Expire marks signals that expired as unmatched. It deletes old signals and deliveries, and windows of budgets and sums
// of spend that are no longer kept.
func (s schedules) Expire(ctx context.Context) error {
	for more := true; more && ctx.Err() == nil; {
		_, _, err := s.store.Do(s.store.by("expire", domain.System), func(tx *Tx) (string, error) {
			signals, err := tx.Incoming().Expire(tx.op.At.Add(-domain.SignalRetention), tx.op.At.Add(-domain.HookRetention), deletedAtOnce)
			if err != nil {
				return "", err
			}
			windows, err := tx.Budgets().Prune(deletedAtOnce)
			if err != nil {
				return "", err
			}
			sums, err := spend.Prune(tx.w.ctx, tx.w.q, tx.op.At, deletedAtOnce)
			more = signals || windows || sums
			return "", err
		})
		if err != nil {
			return core.Translate(err, "delete expired records")
		}
	}
	return nil
}

// RecordDelivery stores a delivery to a hook that started no run.
func (s schedules) RecordDelivery(_ context.Context, d domain.HookDelivery) error {
	_, _, err := s.store.Do(s.store.by("record a delivery", domain.System), func(tx *Tx) (string, error) {
		return "", tx.Incoming().Record(d, 0)
	})
	return core.Translate(err, "record a delivery")
}

// MarkFiles stores which of the files that were delivered to a hook exist.
func (s schedules) MarkFiles(_ context.Context, hook string, files []domain.WatchedFile) error {
	_, _, err := s.store.Do(s.store.by("mark files", domain.System), func(tx *Tx) (string, error) {
		return "", tx.Incoming().MarkFiles(hook, files)
	})
	return core.Translate(err, "mark files")
}

// SendDelivered stores the signal of a delivery with the delivery. If a delivery with its key was
// accepted before, it stores nothing and returns that one.
func (s schedules) SendDelivered(_ context.Context, by domain.Actor, d domain.HookDelivery, x domain.Signal) (domain.HookDelivery, error) {
	o := Operation{Name: "deliver a signal", Action: "signal.send", By: by, At: s.store.now().UTC()}
	var first domain.HookDelivery
	_, _, err := s.store.Do(o, func(tx *Tx) (string, error) {
		var err error
		if first, err = tx.Incoming().Accepted(d.HookID, d.Key); err != nil || first.ID != "" {
			return "", err
		}
		tx.Audit("signal:"+x.Name, "", domain.RawJSON(core.EncodeJSON(map[string]any{"id": x.ID, "key": x.Key, "delivery": d.ID})))
		if err := tx.Incoming().Send(x); err != nil {
			return "", err
		}
		return "", tx.Incoming().Record(d, 0)
	})
	return first, core.Translate(err, "deliver a signal")
}

// SendCallback stores the signal of a request to a callback address. It returns CodeNotFound if the
// address cannot be used, or not any more.
func (s schedules) SendCallback(_ context.Context, by domain.Actor, x domain.Signal) error {
	o := Operation{Name: "deliver a callback", Action: "signal.send", By: by, At: s.store.now().UTC()}
	_, _, err := s.store.Do(o, func(tx *Tx) (string, error) {
		if err := tx.Incoming().UseCallback(x); err != nil {
			return "", err
		}
		tx.Audit("signal:"+x.Name, "", domain.RawJSON(core.EncodeJSON(map[string]any{"id": x.ID, "key": x.Key})))
		return "", tx.Incoming().Send(x)
	})
	return core.Translate(err, "deliver a callback")
}

// MatchWait stores which signal is on its way to a wait.
func (s schedules) MatchWait(_ context.Context, wait, signal string) error {
	_, _, err := s.store.Do(s.store.by("match a signal", domain.System), func(tx *Tx) (string, error) {
		return "", tx.Incoming().Match(wait, signal)
	})
	return core.Translate(err, "match a signal")
}

// DropWait removes a wait for a signal that has ended.
func (s schedules) DropWait(_ context.Context, wait string) error {
	_, _, err := s.store.Do(s.store.by("drop a wait", domain.System), func(tx *Tx) (string, error) {
		return "", tx.Incoming().Drop(wait)
	})
	return core.Translate(err, "drop a wait")
}
