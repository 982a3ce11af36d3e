package circuit

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// Store stores all circuits at once.
type Store interface {
	Circuits(ctx context.Context) ([]domain.StoredCircuit, error)
	SetCircuits(ctx context.Context, list []domain.StoredCircuit) error
}

// keepEvery is the maximum delay before a change is stored, so that a failing server does not cause
// a write per call.
const keepEvery = time.Second

// Keep loads the state from before a restart, and stores later changes until close is called.
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

// restore loads the stored circuits.
func (b *Board) restore(ctx context.Context, s Store) error {
	list, err := s.Circuits(ctx)
	if err != nil {
		return fmt.Errorf("read the state of circuits: %w", err)
	}
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range list[:min(len(list), maxCircuits)] {
		e := &entry{since: k.Since, last: walk.FailureCause{Code: k.LastCode, Message: k.LastMessage, Text: k.LastText},
			lastAt: k.LastErrorAt}
		e.breaker.Restore(now, k.State, k.FailuresInRow)
		b.of[ID{k.Subject, k.Part}] = e
	}
	b.forget(now)
	return nil
}

// save stores changes.
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
		log.Warn("cannot store the state of circuits", "err", err)
	}
}

// list returns the circuits in their stored form.
func (b *Board) list(of map[ID]*entry) []domain.StoredCircuit {
	now := b.now()
	out := make([]domain.StoredCircuit, 0, len(of))
	for id, e := range of {
		out = append(
			out,
			domain.StoredCircuit{Subject: id.Subject, Circuit: e.circuit(id, now), LastCode: e.last.Code,
				LastMessage: e.last.Message, LastText: e.last.Text},
		)
	}
	return out
}

// Close closes the circuits of a subject, or of one part, and clears their failures. keep receives
// the circuits that were open, and stores the remaining ones. The circuits close when it returns
// nil.
func (b *Board) Close(subject, part string, keep func(left []domain.StoredCircuit, opened []domain.Circuit) error) error {
	only := b.named(ID{subject, part})
	b.saving.Lock()
	defer b.saving.Unlock()
	now := b.now()
	b.mu.Lock()
	var closing []ID
	var opened []domain.Circuit
	left := map[ID]*entry{}
	for id, e := range b.of {
		if id.Subject != subject || part != "" && id != only {
			left[id] = e
			continue
		}
		closing = append(closing, id)
		if c := e.circuit(id, now); c.Disturbed() {
			opened = append(opened, c)
		}
	}
	list := b.list(left)
	b.mu.Unlock()
	slices.SortFunc(opened, func(x, y domain.Circuit) int { return cmp.Compare(x.Part, y.Part) })
	if err := keep(list, opened); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range closing {
		delete(b.of, id)
	}
	b.change() // other circuits may have changed in the meantime
	return nil
}
