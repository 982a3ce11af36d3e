package engine

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// A handler that works gives signs of life: it starts, logs, makes progress, says
// text, takes a part of its step. A run of which an attempt has given none for
// domain.SilentAfter needs attention: it may hang.

// silenceEvery is how often attempts are looked at.
const silenceEvery = domain.SilentAfter / 4

// silenceMsg says that one of a run's attempts gives no sign of life since a time,
// or (zero) that all do.
type silenceMsg struct {
	since time.Time
	node  string
}

// sign notes that an attempt lives.
func (t *attempt) sign() { t.signed.Store(t.e.now().UnixMicro()) }

// listen looks for attempts that are silent, until the engine stops.
func (h *handlers) listen() {
	tick := time.NewTicker(silenceEvery)
	defer tick.Stop()
	told := map[string]bool{} // runs that were told that they are silent
	for {
		select {
		case <-tick.C:
			h.tellSilent(told)
		case <-h.e.timers.done:
			return
		}
	}
}

func (h *handlers) tellSilent(told map[string]bool) {
	limit := h.e.now().Add(-domain.SilentAfter)
	found := map[string]silenceMsg{}
	for key := range h.running.Range {
		t := key.(*attempt)
		at := time.UnixMicro(t.signed.Load()).UTC()
		if m, ok := found[t.run]; at.Before(limit) && (!ok || at.Before(m.since)) {
			found[t.run] = silenceMsg{at, t.Spec.ID}
		}
	}
	for run, m := range found {
		if !told[run] {
			told[run] = true
			h.e.runs.tell(run, m)
		}
	}
	for run := range told {
		if _, still := found[run]; !still {
			delete(told, run)
			h.e.runs.tell(run, silenceMsg{})
		}
	}
}
