package engine

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// A handler that works gives signs of life: it starts, logs, makes progress, streams
// text, takes a part of its step. A run of which an attempt has given none for
// domain.SilentAfter needs attention: it may hang.

// silenceEvery is how often attempts are looked at.
const silenceEvery = domain.SilentAfter / 4

// silenceMsg reports that one of a run's attempts gives no sign of life since a time,
// or (zero) that all do.
type silenceMsg struct {
	since time.Time
	node  string
}

// sign notes that an attempt lives.
func (t *attempt) sign() { t.signed.Store(t.handlers.now().UnixMicro()) }

// listen looks for attempts that are silent, until the engine stops.
func (h *handlers) listen() {
	tick := time.NewTicker(silenceEvery)
	defer tick.Stop()
	notified := map[string]bool{} // runs whose runner has been notified
	for {
		select {
		case <-tick.C:
			h.reportSilent(notified)
		case <-h.stopping:
			return
		}
	}
}

func (h *handlers) reportSilent(notified map[string]bool) {
	limit := h.now().Add(-domain.SilentAfter)
	found := map[string]silenceMsg{}
	for key := range h.running.Range {
		t := key.(*attempt)
		at := time.UnixMicro(t.signed.Load()).UTC()
		if m, ok := found[t.run]; at.Before(limit) && (!ok || at.Before(m.since)) {
			found[t.run] = silenceMsg{at, t.Spec.ID}
		}
	}
	for run, m := range found {
		if !notified[run] {
			notified[run] = true
			h.runs.tell(run, m)
		}
	}
	for run := range notified {
		if _, still := found[run]; !still {
			delete(notified, run)
			h.runs.tell(run, silenceMsg{})
		}
	}
}
