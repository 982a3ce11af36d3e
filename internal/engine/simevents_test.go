package engine_test

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/internal/domain"
)

// A listener follows every world like a client. After a restart, it continues after the last event
// that it received. The received events equal those of a replay.

// simEvent is an event that the listener received, in its wire format.
type simEvent struct {
	at   int // number of completed file operations
	seq  int64
	run  string
	text string
}

// unordered marks a reader whose reads need no order, because it reads constant data and nothing in
// a world depends on it.
type unordered struct{}

// listen follows the events of all runs, starting after the last event of earlier generations.
func (w *world) listen() error {
	w.mu.Lock()
	after := int64(0)
	if n := len(w.events); n > 0 {
		after = w.events[n-1].seq
	}
	w.mu.Unlock()
	events, err := w.engine.Subscribe(context.WithValue(w.ctx(), unordered{}, true), after, "")
	if err != nil {
		return err
	}
	vfs, heard := w.vfs, make(chan struct{})
	w.heard = heard
	go func() {
		defer close(heard)
		for ev := range events {
			if ev.Type == "reset" {
				w.violate("a listener that keeps up must start over")
			}
			if !ev.Ephemeral {
				w.hear(vfs.Count(), ev)
			}
		}
	}()
	return nil
}

func (w *world) hear(at int, ev domain.Event) {
	text, err := json.Marshal(ev)
	if err != nil {
		w.violate("an event cannot be sent: %v", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.events = append(w.events, simEvent{at, ev.Seq, ev.Run, string(text)})
	}
}

// forgetEvents removes the events that were received after a number of file operations. It removes all or
// none of the events of a record.
func (w *world) forgetEvents(at int) {
	if i := slices.IndexFunc(w.events, func(e simEvent) bool { return e.at > at }); i >= 0 {
		seq := w.events[i].seq
		w.events = slices.DeleteFunc(w.events, func(e simEvent) bool { return e.seq >= seq })
	}
	for i := range w.events {
		w.events[i].at = 0
	}
}

// announce passes committed events to the listeners.
func (w *world) announce(events []domain.AuditEvent) {
	if w.mistake == mistakeEvents && len(events) > 0 && events[0].Seq%16 == 0 {
		return
	}
	w.engine.HandleCommit(events)
}

// replays checks that the live events of a run equal those of a replay, in order, ids, and content.
func (w *world) replays(run string) {
	list, _, err := w.engine.Events(w.ctx(), 0, run, math.MaxInt32)
	if err != nil {
		w.violate("events of %s: %v", w.name(run), err)
		return
	}
	var replayed, sent []string
	for _, ev := range list {
		text, err := json.Marshal(ev)
		if err != nil {
			w.violate("an event of %s cannot be sent: %v", w.name(run), err)
		}
		replayed = append(replayed, string(text))
	}
	w.mu.Lock()
	for _, ev := range w.events {
		if ev.run == run {
			sent = append(sent, ev.text)
		}
	}
	w.mu.Unlock()
	if diff := cmp.Diff(sent, replayed); diff != "" {
		w.violate("%s: the events that were sent (-) and a replay (+) differ:\n%s", w.name(run), diff)
	}
}
