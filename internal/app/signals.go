package app

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// Signals are the operations on signals: named events that end the waits of steps.
type Signals struct{ *kernel }

type signalStore interface {
	Signal(ctx context.Context, id string) (domain.Signal, error)
	SignalWaits(ctx context.Context, f domain.WaitFilter) (domain.List[domain.SignalWait], error)
	Signals(ctx context.Context, f domain.SignalFilter) (domain.List[domain.Signal], error)
}

// List returns a page of signals, newest first.
//
// Errors: invalid (the cursor), forbidden.
func (s *Signals) List(ctx context.Context, by domain.Actor, f domain.SignalFilter) (domain.List[domain.Signal], error) {
	if err := s.allow(ctx, ListSignals, by, ""); err != nil {
		return domain.List[domain.Signal]{}, err
	}
	return s.store.Signals(ctx, f)
}

// Get finds a signal by ID.
//
// Errors: not_found, forbidden.
func (s *Signals) Get(ctx context.Context, by domain.Actor, id string) (domain.Signal, error) {
	if err := s.allow(ctx, GetSignal, by, ""); err != nil {
		return domain.Signal{}, err
	}
	return s.store.Signal(ctx, id)
}

// Waits returns a page of the waits of steps for signals, by name.
//
// Errors: invalid (the cursor), forbidden.
func (s *Signals) Waits(ctx context.Context, by domain.Actor, f domain.WaitFilter) (domain.List[domain.SignalWait], error) {
	if err := s.allow(ctx, ListSignalWaits, by, ""); err != nil {
		return domain.List[domain.SignalWait]{}, err
	}
	return s.store.SignalWaits(ctx, f)
}

// NewSignal is a signal to send.
type NewSignal struct {
	Meta      `json:"-"`
	Name, Key string
	Data      domain.RawJSON
	All       bool          // ends all waits, not one
	Lifetime  time.Duration // 0: domain.SignalLifetime
}

func (s *Signals) object() object[domain.Signal] {
	return object[domain.Signal]{id: func(x domain.Signal) string { return x.ID }, find: s.store.Signal}
}

// Send stores a signal, which ends the wait of a step. If no step waits for it, it ends the first wait
// that begins before it expires.
//
// Errors: invalid (a name, the data, or the lifetime), too_large (the data), too_many (signals that no
// step waits for), forbidden.
func (s *Signals) Send(ctx context.Context, req NewSignal) (domain.Signal, error) {
	x, err := newSignal(req, req.By.Source, s.now())
	if err != nil {
		return x, err
	}
	x, err = perform(ctx, s.kernel, SendSignal, req.Meta, req, s.object(), func(tx *store.Tx) (domain.Signal, error) {
		tx.Audit("signal:"+x.Name, "", encode(map[string]any{"id": x.ID, "key": x.Key, "all": x.All}))
		return x, tx.Incoming().Send(x)
	})
	if err != nil {
		return x, err
	}
	s.engine.SignalStored(ctx, x.Name, x.Key)
	return s.store.Signal(ctx, x.ID)
}

// newSignal checks a signal.
func newSignal(req NewSignal, source string, now time.Time) (domain.Signal, error) {
	x := domain.Signal{ID: domain.NewID(), Name: req.Name, Key: req.Key, Data: req.Data, All: req.All, Source: source, Actor: req.By.Name,
		Status: domain.SignalWaiting, CreatedAt: now}
	if err := domain.CheckSignalName(x.Name, x.Key); err != nil {
		return x, err
	}
	if len(x.Data) == 0 {
		x.Data = domain.RawJSON("null")
	}
	if len(x.Data) > domain.MaxSignalData {
		return x, domain.Errorf(domain.CodeTooLarge, "the data of the signal exceeds %d KiB", domain.MaxSignalData>>10).
			Suggest("store large data elsewhere, and send its address")
	}
	if _, err := jsonvalue.Decode(x.Data); err != nil {
		return x, domain.Errorf(domain.CodeInvalid, "the data of the signal: %w", err)
	}
	if req.Lifetime < 0 || req.Lifetime > domain.MaxSignalLifetime {
		return x, domain.Errorf(domain.CodeInvalid, "the lifetime must be more than 0 and at most %d days",
			int(domain.MaxSignalLifetime/(24*time.Hour)))
	}
	x.ExpiresAt = now.Add(domain.SignalLifetime)
	if req.Lifetime > 0 {
		x.ExpiresAt = now.Add(req.Lifetime)
	}
	return x, nil
}
