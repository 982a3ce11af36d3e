package engine_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/internal/testing/proof"
	"github.com/kairosd/kairosd/planner/walk"
)

// timed is a store that records the time until each checkpoint is durable.
type timed struct {
	*store.Store
	mu   sync.Mutex
	took []time.Duration
}

func (s *timed) Enqueue(list []domain.Checkpoint, done func(error)) {
	began := time.Now()
	s.Store.Enqueue(list, func(err error) {
		took := time.Since(began)
		s.mu.Lock()
		s.took = append(s.took, took)
		s.mu.Unlock()
		done(err)
	})
}

// 64 runs run at once, with nodes that have a side effect. Each node requires two durable writes,
// before and after. The score card shows durable nodes per second and the duration of a checkpoint.
func TestDurableCheckpoints(t *testing.T) {
	const runs = 64
	nodes := proof.Size(10, 200)
	s := &timed{Store: storetest.Open(t)}
	e := enginetest.OpenWith(
		t,
		s.Store,
		s,
		enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, echo),
		engine.Options{MaxRunning: runs},
	)
	v := e.Save(chainOf(nodes, "call"))
	began := time.Now()
	var ids []string
	for range runs {
		ids = append(ids, e.Begin(v, `{"x": 1}`).ID)
	}
	for _, id := range ids {
		if r := e.Until(id, domain.RunCompleted, ""); r.Steps != int64(nodes) {
			t.Errorf("run %s has %d steps", id, r.Steps)
		}
	}
	rate := float64(runs*nodes) / time.Since(began).Seconds()
	slices.Sort(s.took)
	if len(s.took) < runs*nodes {
		t.Fatalf("%d checkpoints for %d nodes", len(s.took), runs*nodes)
	}
	p50, p99 := s.took[len(s.took)/2], s.took[len(s.took)*99/100]
	t.Logf("%.0f durable nodes/s, a checkpoint takes %s (median), %s (99 of 100)", rate, p50, p99)
	proof.Figure(t, "load checkpoints per second", int(rate))
	proof.Figure(t, "load p99 microseconds", int(p99.Microseconds()))
}
