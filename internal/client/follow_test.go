package cli

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Watching ends with the event of the run's status, after everything before it was
// printed, and waits for no timer.
func TestWatchingEndsWithTheStatus(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		c := &App{Streams: Streams{Err: &said}}
		events, settled := make(chan domain.Event), make(chan domain.Run, 1)
		settled <- domain.Run{Status: domain.RunCompleted, LastSeq: 3}
		go func() {
			synctest.Wait() // the run has settled before anything is heard of it
			for _, e := range []domain.Event{
				{Type: "run_status", Data: map[string]any{"status": "running"}},
				{Type: "node_completed", RunSeq: 2, Data: map[string]any{"node": "a"}},
				{Type: "node_completed", RunSeq: 3, Data: map[string]any{"node": "b"}},
				{Type: "node_skipped", RunSeq: 3, Data: map[string]any{"node": "c"}},
				{Type: "run_status", RunSeq: 3, Data: map[string]any{"status": "completed"}},
			} {
				events <- e
			}
		}()
		began := time.Now()
		if err := c.watch(events, settled, nil); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("it waited %s for a timer", waited)
		}
		if text := said.String(); !strings.Contains(text, "ok       a") || !strings.Contains(text, "ok       b") || !strings.Contains(text, "c") {
			t.Errorf("printed: %s", text)
		}
	})
}
