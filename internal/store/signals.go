package store

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/incoming"
)

// Incoming returns what arrives from other systems in the transaction.
func (tx *Tx) Incoming() incoming.Tx { return incoming.New(tx.w.ctx, tx.w.q, tx.op.At) }

// deletedAtOnce limits the signals that one transaction deletes.
const deletedAtOnce = 1000

// ExpireSignals marks signals that expired as unmatched, and deletes old ones.
func (s schedules) ExpireSignals(context.Context) error {
	_, _, err := s.store.Do(s.store.by("expire signals", domain.System), func(tx *Tx) (string, error) {
		return "", tx.Incoming().Expire(tx.op.At.Add(-domain.SignalRetention), deletedAtOnce)
	})
	return core.Translate(err, "expire signals")
}

// DropWait removes a wait for a signal that has ended.
func (s schedules) DropWait(_ context.Context, wait string) error {
	_, _, err := s.store.Do(s.store.by("drop a wait", domain.System), func(tx *Tx) (string, error) {
		return "", tx.Incoming().Drop(wait)
	})
	return core.Translate(err, "drop a wait")
}
