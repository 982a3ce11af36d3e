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

// sized is how large a test of load is: `make load` runs the full size.
func sized(full, small int) int {
	if os.Getenv("KAIROS_LOAD") != "" {
		return full
	}
	return small
}

// liveHeap is what is reachable now.
func liveHeap() int64 {
	var m runtime.MemStats
	runtime.GC() // twice: what pools hold goes with the second
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Every listener gets every stored event once and in order; who does
// not read is cut off, and holds up no one.
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
	last := make(chan int64) // closed over by all: the last event to hear
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
					if !ok || ev.Type == "reset" { // it was too slow; it catches up
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
	// However much of one commit the listener that does not read was still given:
	// what happens while it stands is more than is kept for it.
	for range 300 {
		e.Settle(e.Begin(v, `{"x": 1}`).ID)
	}
	for { // what was sent before it was cut, and then the end
		select {
		case _, ok := <-stalled:
			if !ok {
				return
			}
		case <-ctx.Done():
			t.Fatal("a listener that did not read was not cut off")
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

// A burst is queued within little memory, and every run of it comes to its end.
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
	if most := int64(sized(4<<10, 32<<10)); each > most { // few runs do not outweigh what an engine holds anyway
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

// Outputs that nothing refers to any more are not kept in memory, however large.
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
	// The last output, its text on the way to the store, and room to compress it.
	if limit := int64(5*size + 24<<20); most > limit {
		t.Errorf("%d MiB were live, more than %d", most>>20, limit>>20)
	}
}

// The memory of a run does not grow with its history: nothing is kept of a visit
// that is over but an output that something may still refer to.
func TestLongRun(t *testing.T) {
	laps := sized(20_000, 1500)
	// What is active at one moment differs; of five moments the least counts.
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
	if late-early > 400_000 { // what is active at a moment; the outputs of all have 2,000 each
		t.Errorf("%d visits that are over hold %d bytes", visits, late-early)
	}
}
