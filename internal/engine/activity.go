package engine

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// A working handler shows activity: it starts, logs, reports progress, streams text, or begins a
// sub-step. A run needs attention if one of its attempts shows no activity for domain.SilentAfter,
// because it may hang.

// silenceEvery is the interval between checks of attempts.
const silenceEvery = domain.SilentAfter / 4

// silenceMsg reports that an attempt of the run shows no activity since a time. Zero means that all
// attempts show activity.
type silenceMsg struct {
	since time.Time
	node  string
}

// touch records activity of an attempt.
func (t *attempt) touch() { t.lastActivity.Store(t.handlers.now().UnixMicro()) }

// watchActivity looks for attempts without activity until the engine stops.
func (h *handlers) watchActivity() {
	tick := time.NewTicker(silenceEvery)
	defer tick.Stop()
	notified := map[string]bool{} // runs whose runners were notified
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
		at := time.UnixMicro(t.lastActivity.Load()).UTC()
		if m, ok := found[t.run]; at.Before(limit) && (!ok || at.Before(m.since)) {
			found[t.run] = silenceMsg{at, t.Spec.ID}
		}
	}
	for run, m := range found {
		if !notified[run] {
			notified[run] = true
			h.runs.postIfActive(run, m)
		}
	}
	for run := range notified {
		if _, still := found[run]; !still {
			delete(notified, run)
			h.runs.postIfActive(run, silenceMsg{})
		}
	}
}
