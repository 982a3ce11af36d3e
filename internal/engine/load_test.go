package engine_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// sized returns the size of a load test. `make load` uses the full size.
func sized(full, small int) int {
	if os.Getenv("KAIROS_LOAD") != "" {
		return full
	}
	return small
}

// liveHeap returns the size of the reachable heap.
func liveHeap() int64 {
	var m runtime.MemStats
	runtime.GC() // the second collection frees the content of pools
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Every listener receives every stored event once and in order. A listener that does not read is
// disconnected and delays no other listener.
func TestManyListeners(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	v := e.Save(chainOf(12, "set"))
	stalled, err := e.Subscribe(ctx, -1, "")
	if err != nil {
		t.Fatal(err)
	}
	from, err := e.Store.LastEvent(ctx)
	if err != nil {
		t.Fatal(err)
	}
	listeners := sized(256, 24)
	heard := make([][]string, listeners)
	last := make(chan int64) // the last expected event, shared by all listeners
	var wg sync.WaitGroup
	for i := range listeners {
		events, err := e.Subscribe(ctx, from, "")
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			end, at, index := int64(1<<62), from+1, 0
			for at < end {
				select {
				case end = <-last:
					continue
				case ev, ok := <-events:
					if !ok || ev.Type == "reset" { // a listener that was too slow catches up
						if events, err = e.Subscribe(ctx, at-1, ""); err != nil {
							t.Error(err)
							return
						}
						continue
					}
					if ev.Seq == at && ev.Index <= index {
						continue
					}
					at, index = ev.Seq, ev.Index
					heard[i] = append(heard[i], ev.ID)
				}
			}
		})
	}
	runs := sized(400, 120)
	ids := make([]string, runs)
	for i := range runs {
		ids[i] = e.Begin(v, `{"x": 1}`).ID
	}
	for _, id := range ids {
		if r := e.Settle(id); r.Status != domain.RunCompleted {
			t.Fatalf("run %s is %s", id, r.Status)
		}
	}
	want, end := stored(t, e, from)
	for range listeners {
		select {
		case last <- end:
		case <-ctx.Done():
			t.Fatal("a listener does not listen")
		}
	}
	wg.Wait()
	for i, got := range heard {
		if len(got) != len(want) {
			t.Errorf("listener %d heard %d of %d events", i, len(got), len(want))
			continue
		}
		for j := range got {
			if got[j] != want[j] {
				t.Fatalf("listener %d heard event %s in place of %s", i, got[j], want[j])
			}
		}
	}
	// Whatever the buffer still accepts of one commit, the following events exceed the buffer of a
	// listener that does not read. One that has not yet read all stored events is not cut off: it
	// reads them, and stalls again.
	for cut := false; !cut; {
		for range 300 {
			e.Settle(e.Begin(v, `{"x": 1}`).ID)
		}
		_, end := stored(t, e, from)
		for at := int64(0); at < end && !cut; {
			select {
			case ev, ok := <-stalled:
				at, cut = ev.Seq, !ok
			case <-ctx.Done():
				t.Fatal("a listener that did not read was not cut off")
			}
		}
	}
}

// stored lists the ids of all events after one, and the number of the last record.
func stored(t *testing.T, e *enginetest.Engine, after int64) (list []string, end int64) {
	t.Helper()
	for {
		page, err := e.Store.EventsAfter(t.Context(), after, "", 500)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range page {
			after = ev.Seq
			for _, ev := range e.Derived(t, ev) {
				list, end = append(list, ev.ID), ev.Seq
			}
		}
		if len(page) < 500 {
			return list, end
		}
	}
}

// A burst of runs is queued in little memory, and every run ends.
func TestBurst(t *testing.T) {
	gate := make(chan struct{})
	reg := enginetest.NewRegistry().Handle("gate", walk.EffectPure, func(ctx context.Context, _ *engine.Call) (engine.Result, error) {
		select {
		case <-gate:
		case <-ctx.Done():
		}
		return engine.Result{Output: 1}, ctx.Err()
	})
	e := enginetest.OpenOn(t, storetest.Open(t), reg, engine.Options{MaxRunning: 8})
	v := e.Save("{id: burst, nodes: {a: {type: gate}, b: {type: set, input: done}}, edges: [{from: a, to: b}]}")
	runs := sized(10_000, 400)
	before := liveHeap()
	ids := make([]string, runs)
	var wg sync.WaitGroup
	for part := range 8 {
		wg.Go(func() {
			for i := part; i < runs; i += 8 {
				r, err := e.Start(t.Context(), enginetest.Operator, domain.StartRequest{Hash: v.Hash, Input: domain.RawJSON(fmt.Sprint(i))})
				if err != nil {
					t.Error(err)
					return
				}
				ids[i] = r.ID
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	each := (liveHeap() - before) / int64(runs)
	t.Logf("%d queued runs hold %d bytes each", runs, each)
	if most := int64(sized(4<<10, 32<<10)); each > most { // with few runs, the engine's own memory dominates
		t.Errorf("a queued run holds %d bytes, more than %d", each, most)
	}
	close(gate)
	for _, id := range ids {
		if r := e.Settle(id); r.Status != domain.RunCompleted {
			t.Fatalf("run %s is %s", id, r.Status)
		}
	}
	if l := e.Load(); l.Queued != 0 {
		t.Errorf("%d runs are left in the queue", l.Queued)
	}
}

// Unreferenced outputs are not kept in memory, however large they are.
func TestLargeOutputs(t *testing.T) {
	size, nodes := sized(31<<20, 2<<20), sized(12, 8)
	var most int64
	before := liveHeap()
	reg := enginetest.NewRegistry().Handle("large", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
		most = max(most, liveHeap()-before)
		return engine.Result{Output: strings.Repeat(c.Node.ID+" ", size/(len(c.Node.ID)+1))}, nil
	})
	e := enginetest.Open(t, reg)
	var plan strings.Builder
	plan.WriteString("id: large\nnodes:\n")
	for i := range nodes {
		fmt.Fprintf(&plan, "  n%d: {type: large, input: small}\n", i)
	}
	plan.WriteString("  end: {type: set, input: done}\nedges:\n")
	for i := range nodes - 1 {
		fmt.Fprintf(&plan, "  - {from: n%d, to: n%d}\n", i, i+1)
	}
	fmt.Fprintf(&plan, "  - {from: n%d, to: end}\n", nodes-1)
	r := e.Run(plan.String(), "")
	if r = e.Settle(r.ID); r.Status != domain.RunCompleted {
		t.Fatalf("%s: %s", r.Status, r.Headline)
	}
	t.Logf("%d outputs of %d MiB; at most %d MiB were live", nodes, size>>20, most>>20)
	// The last output, its text for the store, and memory for its compression.
	if limit := int64(5*size + 24<<20); most > limit {
		t.Errorf("%d MiB were live, more than %d", most>>20, limit>>20)
	}
}

// The memory of a run does not grow with its history. Of an ended visit, only an output that may
// still be referenced is kept.
func TestLongRun(t *testing.T) {
	laps := sized(20_000, 1500)
	// The amount of active data varies, so the minimum of five measurements counts.
	early, late := int64(math.MaxInt64), int64(math.MaxInt64)
	reg := enginetest.NewRegistry().Handle("tick", walk.EffectPure, func(_ context.Context, c *engine.Call) (engine.Result, error) {
		switch {
		case c.Visit > laps/10-5 && c.Visit <= laps/10:
			early = min(early, liveHeap())
		case c.Visit > laps-5:
			late = min(late, liveHeap())
		}
		return engine.Result{Output: map[string]any{"visit": c.Visit, "text": strings.Repeat("x", 2000)}}, nil
	})
	e := enginetest.Open(t, reg.Unrecorded())
	plan := fmt.Sprintf(
		`{id: long, strict: false, limits: {max_steps: 1000000}, start: a, nodes: {a: {type: tick, input: small, max_visits: %d}, b: {type: set, max_visits: %d, input: "${output.a.text}"}},
  edges: [{from: a, to: b}, {from: b, to: a, condition: "output.a.visit != %d"}]}`,
		laps,
		laps,
		laps,
	)
	r := e.Run(plan, "")
	if r = e.Settle(r.ID); r.Status != domain.RunCompleted {
		t.Fatalf("%s: %s", r.Status, r.Headline)
	}
	visits := int64(2 * (laps - laps/10))
	t.Logf("%d visits hold %d bytes more, %d each", visits, late-early, (late-early)/visits)
	if late-early > 400_000 { // tolerance for active data; the outputs of all visits have 2,000 bytes each
		t.Errorf("%d visits that are over hold %d bytes", visits, late-early)
	}
}
