package client

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
)

// Following ends with the event of the run's status, after all earlier events were delivered,
// without waiting for a timer.
func TestFollowingEndsWithTheStatus(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var nodes []string
		events := make(chan domain.Event)
		settled := apitypes.DetailOf(domain.RunDetail{Run: domain.Run{Status: domain.RunCompleted, LastSeq: 3}}, nil)
		go func() {
			synctest.Wait() // the run has settled before its first event
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
		view, err := follow(t.Context(), events, func() (apitypes.RunDetail, error) { return settled, nil }, func(e domain.Event) {
			if node, ok := e.Data["node"].(string); ok {
				nodes = append(nodes, node)
			}
		})
		if err != nil || view.Status != domain.RunCompleted {
			t.Fatalf("%+v, %v", view, err)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("it waited %s for a timer", waited)
		}
		if !slices.Equal(nodes, []string{"a", "b", "c"}) {
			t.Errorf("delivered: %v", nodes)
		}
	})
}

// Without events, the run is polled. If some of the last events are missing, following ends after a
// time.
func TestFollowingWithoutEvents(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]bool{"refused": true, "silent": false} {
		synctest.Test(t, func(t *testing.T) {
			events := make(chan domain.Event)
			if refused {
				close(events)
			}
			looks, began := 0, time.Now()
			view, err := follow(t.Context(), events, func() (apitypes.RunDetail, error) {
				r := domain.Run{Status: domain.RunRunning, LastSeq: 3}
				if looks++; looks == 3 {
					r.Status = domain.RunCompleted
				}
				return apitypes.DetailOf(domain.RunDetail{Run: r}, nil), nil
			}, func(domain.Event) {})
			if err != nil || view.Status != domain.RunCompleted || looks != 3 {
				t.Errorf("%s: %d looks: %+v, %v", name, looks, view, err)
			}
			want := 7 * pollLeast
			if !refused {
				want += lateEvents
			}
			if took := time.Since(began); took != want {
				t.Errorf("%s: it took %s, want %s", name, took, want)
			}
		})
	}
}
