package activity

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Settings stores values under keys, durably.
type Settings interface {
	Setting(ctx context.Context, key string) (string, error)
	SetSetting(ctx context.Context, key, value string) error
}

// Keys under which the log is stored: a list of subjects, one value for each, and the disabled
// subjects.
const (
	subjectsKey = "activity"
	subjectKey  = "activity."
	disabledKey = "disabled"
)

// saveEvery is the interval of saves, and the maximum age of data that a crash may lose.
const saveEvery = time.Minute

// Keep loads the state from before a restart, and stores later changes until close is called.
func (l *Log) Keep(ctx context.Context, s Settings, log *slog.Logger) (closeKeeper func(), err error) {
	if err := l.restore(ctx, s); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(saveEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				l.save(ctx, s, log)
			}
		}
	})
	return sync.OnceFunc(func() {
		cancel()
		wg.Wait()
		l.save(context.WithoutCancel(ctx), s, log)
	}), nil
}

// restore reads the stored state. Statistics that cannot be read are dropped; new calls rebuild
// them.
func (l *Log) restore(ctx context.Context, s Settings) error {
	text, err := s.Setting(ctx, subjectsKey)
	if err != nil {
		return fmt.Errorf("read call statistics: %w", err)
	}
	var subjects []string
	if text != "" && json.Unmarshal([]byte(text), &subjects) != nil {
		subjects = nil
	}
	disabled, err := s.Setting(ctx, disabledKey)
	if err != nil {
		return fmt.Errorf("read what is disabled: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if disabled != "" {
		if err := json.Unmarshal([]byte(disabled), &l.disabled); err != nil { // otherwise a disabled subject could be called
			return fmt.Errorf("read what is disabled: %w", err)
		}
	}
	for _, name := range subjects[:min(len(subjects), maxSubjects)] {
		text, err := s.Setting(ctx, subjectKey+name)
		if err != nil {
			return fmt.Errorf("read call statistics of %s: %w", name, err)
		}
		var r record
		if text == "" || json.Unmarshal([]byte(text), &r) != nil {
			continue
		}
		r.Slots = slices.DeleteFunc(r.Slots, func(c *counts) bool { return c == nil })
		l.of[name] = &r
	}
	return nil
}

func (l *Log) save(ctx context.Context, s Settings, log *slog.Logger) {
	values := map[string]string{}
	l.mu.Lock()
	for name := range l.dirty {
		if raw, err := json.Marshal(l.of[name]); err == nil { // cannot fail: the record contains only strings, numbers, and times
			values[subjectKey+name] = string(raw)
		}
	}
	if !l.known && len(values) > 0 {
		if raw, err := json.Marshal(slices.Sorted(maps.Keys(l.of))); err == nil {
			values[subjectsKey] = string(raw)
		}
		l.known = true
	}
	clear(l.dirty)
	l.mu.Unlock()
	for key, value := range values {
		if err := s.SetSetting(ctx, key, value); err != nil && log != nil {
			log.Warn("cannot store call statistics", "key", key, "err", err)
		}
	}
}

// Disabled reports whether an operator has disabled a subject, since when, and why.
func (l *Log) Disabled(subject string) (domain.Disablement, bool) {
	if l == nil {
		return domain.Disablement{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	by, ok := l.disabled[subject]
	return by, ok
}

// Disable rejects new calls of a subject until it is enabled. Active calls continue. keep stores
// the disabled subjects under a key; the change takes effect when it returns nil. If the subject is
// already disabled, Disable changes and stores nothing.
func (l *Log) Disable(subject string, by domain.Disablement, keep func(key, value string) error) error {
	by.Since = l.now().UTC().Truncate(time.Millisecond)
	return l.change(keep, func(disabled map[string]domain.Disablement) bool {
		if _, already := disabled[subject]; already {
			return false
		}
		disabled[subject] = by
		return true
	})
}

// Enable permits the calls of a subject again. A subject that is not disabled does not change. keep
// stores the disabled subjects.
func (l *Log) Enable(subject string, keep func(key, value string) error) error {
	return l.change(keep, func(disabled map[string]domain.Disablement) bool {
		delete(disabled, subject)
		return true
	})
}

// change applies f to a copy of the disabled subjects. If f has changed it, change stores the copy,
// and then uses it.
func (l *Log) change(keep func(key, value string) error, f func(disabled map[string]domain.Disablement) bool) error {
	l.changing.Lock() // one change at a time; calls do not wait for the disk
	defer l.changing.Unlock()
	l.mu.Lock()
	next := maps.Clone(l.disabled)
	l.mu.Unlock()
	if !f(next) {
		return nil
	}
	raw, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if err := keep(disabledKey, string(raw)); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.disabled = next
	return nil
}
