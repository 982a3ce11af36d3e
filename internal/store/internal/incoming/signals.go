// Package incoming writes what arrives from other systems: signals, and the waits that they end.
package incoming

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// Tx writes in a transaction.
type Tx struct {
	ctx context.Context
	q   *dbsqlc.Queries
	at  time.Time
}

// New returns the writes of a transaction that counts as made at a time.
func New(ctx context.Context, q *dbsqlc.Queries, at time.Time) Tx { return Tx{ctx, q, at} }

// Send stores a signal. It returns CodeTooMany if no step waits for the signal, and too many such
// signals are kept.
func (t Tx) Send(s domain.Signal) error {
	size := int64(len(s.Name) + len(s.Key) + len(s.Data))
	waits, err := t.q.WaitCount(t.ctx, s.Name, s.Key)
	if err != nil {
		return err
	}
	pending, err := t.q.SignalCountMatchable(t.ctx, s.Name, s.Key, core.Micros(t.at))
	if err != nil {
		return err
	}
	if pending >= waits { // it comes early
		early, err := t.q.SignalEarly(t.ctx, core.Micros(t.at))
		if err != nil {
			return err
		}
		if early.Signals >= domain.MaxEarlySignals || early.Size+size > domain.MaxEarlyBytes {
			return domain.TooManySignals()
		}
	}
	deliver := "one"
	if s.All {
		deliver = "all"
	}
	return t.q.SignalInsert(t.ctx, dbsqlc.SignalInsertParams{PublicID: s.ID, Name: s.Name, Key: s.Key, Data: string(s.Data),
		Deliver: deliver, Source: s.Source, Actor: s.Actor, Size: size, CreatedAt: core.Micros(s.CreatedAt),
		ExpiresAt: core.Micros(s.ExpiresAt)})
}

// UseCallback uses the callback address of the run that a signal names with its key. It returns CodeNotFound
// if the run has ended, or its address was used before.
func (t Tx) UseCallback(s domain.Signal) error {
	run, err := t.q.RunRowID(t.ctx, s.Key)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return domain.UnknownCallback()
	case err != nil:
		return err
	case domain.RunStatus(run.Status).Final():
		return domain.UnknownCallback()
	}
	n, err := t.q.CallbackInsert(t.ctx, run.ID, s.ID, core.Micros(t.at))
	if err == nil && n == 0 {
		return domain.UnknownCallback()
	}
	failpoint.Hit("callback.accepted")
	return err
}

// Waits stores the waits that a checkpoint of a run begins, and ends others. It consumes the signals
// that end waits, or returns CodeConflict if a signal was consumed before.
func (t Tx) Waits(run int64, list []domain.SignalWait) error {
	for _, w := range list {
		if !w.Ended {
			if err := t.q.WaitInsert(t.ctx, dbsqlc.WaitInsertParams{ID: w.ID, RunID: run, Name: w.Name, Key: w.Key, Node: w.Node,
				Visit: int64(w.Visit), Item: int64(w.Item), Since: core.Micros(w.Since), DueAt: core.Micros(w.Due)}); err != nil {
				return err
			}
			continue
		}
		if err := t.q.WaitDelete(t.ctx, w.ID); err != nil {
			return err
		}
		if w.Signal == "" {
			continue
		}
		if err := t.consume(run, w); err != nil {
			return err
		}
		failpoint.Hit("signal.consumed")
	}
	return nil
}

func (t Tx) consume(run int64, w domain.SignalWait) error {
	consumed := domain.Errorf(domain.CodeConflict, "signal %s ended another wait", domain.ShortID(w.Signal))
	s, err := t.q.SignalGet(t.ctx, w.Signal)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return consumed
	case err != nil:
		return err
	case s.Status != string(domain.SignalWaiting):
		return consumed
	}
	if s.Deliver == "one" {
		if _, err := t.q.SignalConsume(t.ctx, s.ID); err != nil {
			return err
		}
	}
	n, err := t.q.SignalMatchInsert(t.ctx, dbsqlc.SignalMatchInsertParams{SignalID: s.ID, RunID: run, Node: w.Node, Item: int64(w.Item),
		Visit: int64(w.Visit), At: core.Micros(t.at)})
	if err == nil && n == 0 {
		return consumed
	}
	return err
}

// Expire marks signals that have expired, and deletes signals and deliveries from before a time, at most
// max of each. more reports that others are left.
func (t Tx) Expire(signals, deliveries time.Time, max int) (more bool, err error) {
	if _, err := t.q.SignalExpire(t.ctx, core.Micros(t.at)); err != nil {
		return false, err
	}
	n, err := t.q.SignalDelete(t.ctx, core.Micros(signals), int64(max))
	if err != nil {
		return false, err
	}
	m, err := t.q.HookDeliveryDelete(t.ctx, core.Micros(deliveries), int64(max))
	if err != nil {
		return false, err
	}
	k, err := t.q.HookFileDelete(t.ctx, core.Micros(deliveries), int64(max))
	return n == int64(max) || m == int64(max) || k == int64(max), err
}

// Match stores which signal is on its way to a wait. It returns CodeConflict if the wait has ended, or another signal is.
func (t Tx) Match(wait, signal string) error {
	n, err := t.q.WaitMatch(t.ctx, signal, wait)
	if err == nil && n == 0 {
		return domain.Errorf(domain.CodeConflict, "the step no longer waits for a signal")
	}
	return err
}

// Drop removes a wait that has ended.
func (t Tx) Drop(wait string) error { return t.q.WaitDelete(t.ctx, wait) }

// Signal maps the row of a signal. A signal that has expired counts as
// unmatched, whatever its row has.
func Signal(r dbsqlc.Signal, now time.Time) domain.Signal {
	s := domain.Signal{ID: r.PublicID, Name: r.Name, Key: r.Key, Data: domain.RawJSON(r.Data), All: r.Deliver == "all", Source: r.Source,
		Actor: r.Actor, Status: domain.SignalStatus(r.Status), CreatedAt: core.FromMicros(r.CreatedAt),
		ExpiresAt: core.FromMicros(r.ExpiresAt)}
	if s.Status == domain.SignalWaiting && !s.ExpiresAt.After(now) {
		s.Status = domain.SignalUnmatched
	}
	return s
}
