package circuit

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// Store stores circuits: all of them at once, in one transaction with the records of
// who changed them.
type Store interface {
	Circuits(ctx context.Context) ([]domain.KeptCircuit, error)
	Recorder
}

// Recorder is the part of a [Store] that a person's change needs.
type Recorder interface {
	SetCircuits(ctx context.Context, list []domain.KeptCircuit, said ...domain.AuditRecord) error
}

// keepEvery is how long what was learned may wait until it is kept: a server that
// fails under load must not make every call a write.
const keepEvery = time.Second

// Keep takes up what was known before a restart, and keeps what is learned from
// now on, until close is called.
func (b *Board) Keep(ctx context.Context, s Store, log *slog.Logger) (closeKeeper func(), err error) {
	if err := b.restore(ctx, s); err != nil {
		return nil, err
	}
	learned := make(chan struct{}, 1)
	b.mu.Lock()
	b.log, b.learned = log, learned
	b.mu.Unlock()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-learned:
			}
			b.save(ctx, s)
			select {
			case <-ctx.Done():
				return
			case <-time.After(keepEvery):
			}
		}
	})
	return sync.OnceFunc(func() {
		cancel()
		wg.Wait()
		b.save(context.WithoutCancel(ctx), s)
	}), nil
}

// restore reads what was stored.
func (b *Board) restore(ctx context.Context, s Store) error {
	list, err := s.Circuits(ctx)
	if err != nil {
		return fmt.Errorf("what is known of circuits: %w", err)
	}
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range list[:min(len(list), maxCircuits)] {
		e := &entry{since: k.Since, last: walk.Behind{Code: k.LastCode, Message: k.LastMessage}, lastAt: k.LastErrorAt, by: k.By, reason: k.Reason}
		e.breaker.Restore(now, k.State, k.FailuresInRow, k.OpenUntil, k.By != "")
		b.of[ID{k.Subject, k.Part}] = e
	}
	b.forget(now)
	return nil
}

// save keeps what has changed.
func (b *Board) save(ctx context.Context, s Store) {
	b.saving.Lock()
	defer b.saving.Unlock()
	b.mu.Lock()
	dirty, log := b.dirty, b.log
	list := b.list(b.of)
	b.dirty = false
	b.mu.Unlock()
	if !dirty {
		return
	}
	err := s.SetCircuits(ctx, list)
	if err == nil {
		return
	}
	b.mu.Lock()
	b.dirty = true // the next change, or the end, tries again
	b.mu.Unlock()
	if log != nil {
		log.Warn("what is known of circuits was not kept", "err", err)
	}
}

// list is circuits as they are stored.
func (b *Board) list(of map[ID]*entry) []domain.KeptCircuit {
	now := b.now()
	out := make([]domain.KeptCircuit, 0, len(of))
	for id, e := range of {
		out = append(out, domain.KeptCircuit{Subject: id.Subject, Circuit: e.circuit(id, now), LastCode: e.last.Code, LastMessage: e.last.Message})
	}
	return out
}

// Change opens or closes a circuit as the act of a person. It is durable, with the
// record of it, on return; CodeConflict when a circuit is closed that is not open,
// CodeInvalid for a time that is none.
func (b *Board) Change(ctx context.Context, keep Recorder, actor domain.Actor, id ID, c domain.CircuitChange) error {
	id = b.named(id)
	if c.For == 0 {
		c.For = domain.CircuitFor
	}
	if c.For < time.Second || c.For > domain.MaxCircuitFor {
		return domain.Errorf(domain.CodeInvalid, "a circuit is opened for a second to %s, not %s", domain.MaxCircuitFor, c.For).Suggest("stop the calls to refuse them until somebody allows them again")
	}
	b.saving.Lock()
	defer b.saving.Unlock()
	now := b.now()
	record := domain.AuditRecord{Action: "circuit.close", Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Object: id.Subject, Reason: c.Reason}
	detail := map[string]any{}
	if id.Part != "" {
		detail["part"] = id.Part
	}
	b.mu.Lock()
	was, next := b.of[id], map[ID]*entry{}
	for other, e := range b.of {
		next[other] = e
	}
	state := was.circuit(id, now)
	var opened *entry
	if c.Open {
		// Another entry, so that the end of a trial under way is not taken for its end.
		opened = &entry{since: now.UTC().Truncate(time.Millisecond), by: actor.Name, reason: c.Reason}
		if was != nil {
			opened.last, opened.lastAt = was.last, was.lastAt
			opened.breaker.Settings, opened.breaker.row = was.breaker.Settings, was.breaker.row
		}
		opened.breaker.Open(now.Add(c.For))
		next[id] = opened
		record.Action, detail["until"] = "circuit.open", now.Add(c.For).UTC().Truncate(time.Millisecond)
	} else {
		delete(next, id)
		detail["was"], detail["failuresInRow"] = state.State, state.FailuresInRow
	}
	list := b.list(next)
	b.mu.Unlock()
	switch {
	case !c.Open && !state.Disturbed():
		return domain.Errorf(domain.CodeConflict, "the circuit of %s is closed already", id)
	case c.Open && was == nil && len(next) > maxCircuits:
		return domain.Errorf(domain.CodeConflict, "%d circuits are open or have failed; no more are kept", maxCircuits).Suggest("close one first")
	}
	var err error
	if record.Detail, err = json.Marshal(detail); err != nil {
		return fmt.Errorf("encode the record of a circuit: %w", err)
	}
	if err := keep.SetCircuits(ctx, list, record); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.Open {
		b.of[id] = opened
	} else {
		delete(b.of, id)
	}
	b.change() // other circuits may have changed since
	return nil
}
