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

// Settings keep values under keys, durably.
type Settings interface {
	Setting(ctx context.Context, key string) (string, error)
	SetSetting(ctx context.Context, key, value string) error
}

// Keys under which the log is kept: a list of subjects, one value for each, and
// what is stopped.
const (
	subjectsKey = "activity"
	subjectKey  = "activity."
	stopsKey    = "stopped"
)

// saveEvery is how much of the log a crash may cost.
const saveEvery = time.Minute

// Keep takes up what was known before a restart, and keeps what is noted from now
// on, until close is called.
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

// restore reads what was kept. What cannot be read is forgotten: it is learned
// anew.
func (l *Log) restore(ctx context.Context, s Settings) error {
	text, err := s.Setting(ctx, subjectsKey)
	if err != nil {
		return fmt.Errorf("how calls went: %w", err)
	}
	var subjects []string
	if text != "" && json.Unmarshal([]byte(text), &subjects) != nil {
		subjects = nil
	}
	stopped, err := s.Setting(ctx, stopsKey)
	if err != nil {
		return fmt.Errorf("what is stopped: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if stopped != "" {
		if err := json.Unmarshal([]byte(stopped), &l.stops); err != nil { // nothing may be called that somebody stopped
			return fmt.Errorf("what is stopped: %w", err)
		}
	}
	for _, name := range subjects[:min(len(subjects), maxSubjects)] {
		text, err := s.Setting(ctx, subjectKey+name)
		if err != nil {
			return fmt.Errorf("how calls of %s went: %w", name, err)
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
		if raw, err := json.Marshal(l.of[name]); err == nil { // strings, numbers and times: cannot fail
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
			log.Warn("how calls went was not kept", "key", key, "err", err)
		}
	}
}

// Recorder keeps a value as the act of somebody, in one transaction with its
// record (G12).
type Recorder interface {
	SetSettingAs(ctx context.Context, key, value string, r domain.AuditRecord) error
}

// Stopped says whether somebody has stopped the calls of a subject.
func (l *Log) Stopped(subject string) (domain.Stop, bool) {
	if l == nil {
		return domain.Stop{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	stop, ok := l.stops[subject]
	return stop, ok
}

// Stop lets no call of a subject begin any more, or, with on false, lets them
// begin again; what is under way goes on. It is durable, with the record of it, on
// return. CodeConflict when it is so already.
func (l *Log) Stop(ctx context.Context, keep Recorder, actor domain.Actor, subject string, on bool, reason string) error {
	l.changing.Lock() // one at a time, and calls do not wait for the disk
	defer l.changing.Unlock()
	l.mu.Lock()
	was, stopped := l.stops[subject]
	next := maps.Clone(l.stops)
	l.mu.Unlock()
	switch {
	case stopped && on:
		return domain.Errorf(domain.CodeConflict, "%s is stopped already, since %s by %s", subject, was.Since.Format(time.DateTime), was.By)
	case !stopped && !on:
		return domain.Errorf(domain.CodeConflict, "%s is not stopped", subject)
	}
	action := "calls.start"
	if delete(next, subject); on {
		action, next[subject] = "calls.stop", domain.Stop{Since: l.now().UTC().Truncate(time.Millisecond), By: actor.Name, Reason: reason}
	}
	raw, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if err := keep.SetSettingAs(ctx, stopsKey, string(raw), domain.AuditRecord{Action: action, Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Object: subject, Reason: reason}); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stops = next
	return nil
}
