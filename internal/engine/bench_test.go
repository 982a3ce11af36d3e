package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// chainOf returns a plan of n nodes of a type, one after the other. Each has an output of about 100
// bytes.
func chainOf(n int, typ string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "id: chain-%s-%d\nnodes:\n", typ, n)
	for i := range n {
		fmt.Fprintf(
			&b,
			"  n%d: {type: %s, input: {id: %d, name: \"a result of about one hundred bytes of JSON\", value: \"${input.x}\", ok: true}}\n",
			i,
			typ,
			i,
		)
	}
	b.WriteString("edges:\n")
	for i := range n - 1 {
		fmt.Fprintf(&b, "  - {from: n%d, to: n%d}\n", i, i+1)
	}
	return b.String()
}

func benchmarkRuns(b *testing.B, plan string, runs, nodes int) {
	e := enginetest.Open(b, enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, echo))
	v := e.Save(plan)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		ids := make([]string, runs)
		done := make(chan error, runs)
		for i := range runs {
			go func() {
				r, err := e.Start(
					context.Background(),
					enginetest.Operator,
					domain.StartRequest{Hash: v.Hash, Input: domain.RawJSON(`{"x": 42}`)},
				)
				ids[i] = r.ID
				done <- err
			}()
		}
		for range runs {
			if err := <-done; err != nil {
				b.Fatal(err)
			}
		}
		for _, id := range ids {
			r, err := e.Wait(context.Background(), id)
			if err != nil || r.Status != domain.RunCompleted {
				b.Fatalf("run %s is %s: %v", id, r.Status, err)
			}
		}
	}
	b.ReportMetric(float64(runs*nodes*b.N)/b.Elapsed().Seconds(), "steps/s")
}

// W1: one run in which each node has a side effect and requires its own durable row.
func BenchmarkW1(b *testing.B) { benchmarkRuns(b, chainOf(1000, "call"), 1, 1000) }

// W1p: one run of pure nodes, pipelined.
func BenchmarkW1p(b *testing.B) { benchmarkRuns(b, chainOf(1000, "set"), 1, 1000) }

// W2: many runs that start at the same time.
func BenchmarkW2(b *testing.B) { benchmarkRuns(b, chainOf(100, "set"), 500, 100) }

// W3: one long run. Its cost per node must not grow.
func BenchmarkW3(b *testing.B) { benchmarkRuns(b, chainOf(4900, "set"), 1, 4900) }

// W4: a fan-out of 100 nodes and their join.
func BenchmarkW4(b *testing.B) {
	var p strings.Builder
	p.WriteString("id: fan\nnodes:\n")
	names := make([]string, 100)
	for i := range names {
		names[i] = fmt.Sprintf("n%d", i)
		fmt.Fprintf(&p, "  %s: {type: call, input: {id: %d}}\n", names[i], i)
	}
	fmt.Fprintf(&p, "  join: {type: set, needs: [%s]}\n", strings.Join(names, ", "))
	benchmarkRuns(b, p.String(), 1, 101)
}

// W5: runs that were in flight when the daemon crashed continue.
func BenchmarkW5(b *testing.B) {
	for range b.N {
		b.StopTimer()
		reg := enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, echo)
		first := enginetest.Open(b, enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, echo))
		cut := enginetest.NewCut(first.Store, 800)
		v := first.Save(chainOf(10, "call"))
		first.Close()
		ids := make([]string, 200)
		dying := enginetest.OpenWith(b, first.Store, cut, reg, engine.Options{})
		for i := range ids {
			ids[i] = dying.Begin(v, `{"x": 1}`).ID
		}
		<-cut.Dead()
		dying.Close()
		b.StartTimer()
		start := time.Now()
		e := enginetest.OpenOn(b, first.Store, reg, engine.Options{})
		for _, id := range ids {
			if r, err := e.Wait(context.Background(), id); err != nil || r.Status != domain.RunCompleted {
				b.Fatalf("run %s is %s: %v", id, r.Status, err)
			}
		}
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms/recovery")
		b.StopTimer()
		e.Close()
	}
}
