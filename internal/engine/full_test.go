package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// A disk that is temporarily full stores some checkpoints of a run and rejects the next, before the
// run learns of either. Stored checkpoints are not handed over again, and no call is repeated.
func TestARunContinuesAfterAFullDisk(t *testing.T) {
	t.Parallel()
	for n := range 12 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			s := storetest.Open(t)
			full := enginetest.NewFull(s, n)
			r := enginetest.NewRegistry().Handle("call", walk.EffectUnsafe, echo)
			e := enginetest.OpenWith(t, s, full, r, engine.Options{})
			v := e.Save(`
id: many
nodes:
  a: {type: set, input: {list: [1, 2, 3]}}
  b: {type: set, input: "${last}"}
  c: {type: call, foreach: "${last.list}", max_parallel: 3, input: {n: "${item}"}}
  d: {type: set, input: {done: true}}
  e: {type: call, input: {n: 4}}
edges: [{from: a, to: b}, {from: b, to: c}, {from: c, to: d}, {from: d, to: e}]
`)
			run := e.Begin(v, "")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			got, err := e.WaitFor(ctx, run.ID, func(r domain.Run) bool { return r.Status.Final() })
			if err != nil || got.Status != domain.RunCompleted {
				t.Fatalf("%s: %v %v\n%s", got.Status, got.Error, err, e.Journal(run.ID))
			}
			if c, d := r.Count("c"), r.Count("e"); c != 3 || d != 1 {
				t.Errorf("c was called %d times, e %d times", c, d)
			}
			if !full.Refused() && n < 6 {
				t.Error("nothing was refused")
			}
		})
	}
}
