package circuit

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// Store keeps values under keys, durably.
type Store interface {
	Setting(ctx context.Context, key string) (string, error)
	SetSetting(ctx context.Context, key, value string) error
}

// Recorder keeps a value as the act of somebody, in one transaction with its
// record (G12).
type Recorder interface {
	SetSettingAs(ctx context.Context, key, value string, r domain.AuditRecord) error
}

const circuitsKey = "circuits"

// keepEvery is how long what was learned may wait until it is kept: a server that
// fails under load must not make every call a write.
const keepEvery = time.Second

// kept is a circuit as it is kept over restarts.
type kept struct {
	Subject string         `json:"subject"`
	Last    planner.Behind `json:"last"` // the failure that counted, whole
	domain.Circuit
}

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

// restore reads what was kept. What cannot be read is forgotten: it is learned
// anew.
func (b *Board) restore(ctx context.Context, s Store) error {
	text, err := s.Setting(ctx, circuitsKey)
	if err != nil {
		return fmt.Errorf("what is known of circuits: %w", err)
	}
	var list []kept
	if text == "" || json.Unmarshal([]byte(text), &list) != nil {
		return nil
	}
	now := b.now()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range list[:min(len(list), maxCircuits)] {
		e := &entry{since: k.Since, last: k.Last, lastAt: k.LastErrorAt, by: k.By, reason: k.Reason}
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
	text, err := b.encode(b.of)
	b.dirty = false
	b.mu.Unlock()
	if !dirty {
		return
	}
	if err == nil {
		err = s.SetSetting(ctx, circuitsKey, text)
	}
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

func (b *Board) encode(of map[ID]*entry) (string, error) {
	now := b.now()
	list := make([]kept, 0, len(of))
	for id, e := range of {
		list = append(list, kept{id.Subject, e.last, e.circuit(id, now)})
	}
	raw, err := json.Marshal(list)
	return string(raw), err
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
	text, err := b.encode(next)
	b.mu.Unlock()
	switch {
	case !c.Open && !state.Disturbed():
		return domain.Errorf(domain.CodeConflict, "the circuit of %s is closed already", id)
	case c.Open && was == nil && len(next) > maxCircuits:
		return domain.Errorf(domain.CodeConflict, "%d circuits are open or have failed; no more are kept", maxCircuits).Suggest("close one first")
	case err != nil:
		return fmt.Errorf("encode circuits: %w", err)
	}
	if record.Detail, err = json.Marshal(detail); err != nil {
		return fmt.Errorf("encode the record of a circuit: %w", err)
	}
	if err := keep.SetSettingAs(ctx, circuitsKey, text, record); err != nil {
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
