package engine_test

import (
	"context"
	"fmt"
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

// textHandler returns a registry whose nodes of type ask return a word.
func textHandler(word string) *enginetest.Registry {
	return enginetest.NewRegistry().
		Handle("ask", walk.EffectRead, func(context.Context, *engine.Call) (engine.Result,
			error) {
			return engine.Result{Output: word}, nil
		})
}

// O13: A running step keeps its handler, and the next step of its run uses the new one. The owner of
// the previous setup is notified when nothing uses it. Plans may name what the new registry has
// immediately. An invalid setup changes nothing.
func TestASetupIsReplacedDuringRuns(t *testing.T) {
	t.Parallel()
	began, gate := make(chan struct{}), make(chan struct{})
	old := textHandler("old").Handle("hold", walk.EffectRead, func(context.Context, *engine.Call) (engine.Result, error) {
		close(began)
		<-gate
		return engine.Result{Output: "old"}, nil
	})
	e := enginetest.Open(t, old)
	run := e.Run("id: p\nnodes:\n  a: {type: hold}\n  b: {type: ask}\nedges: [{from: a, to: b}]\n", "")
	<-began
	if _, err := e.Reconfigure(engine.Setup{Registry: textHandler("none"), MaxNodes: -1}); err == nil {
		t.Error("a setup with less than no nodes is taken")
	}
	if _, err := e.Reconfigure(engine.Setup{}); err == nil {
		t.Error("a setup without a registry is taken")
	}
	gone, err := e.Reconfigure(engine.Setup{Registry: textHandler("new").Handle("more", walk.EffectPure, nil), MaxRunning: 5, MaxNodes: 6})
	if err != nil {
		t.Fatal(err)
	}
	if runs, nodes := e.Slots(); runs != 5 || nodes != 6 {
		t.Errorf("slots: %d and %d", runs, nodes)
	}
	if _, offered := e.Catalog().Types["more"]; !offered {
		t.Error("plans may not name what is new")
	}
	select {
	case <-gone:
		t.Fatal("the previous setup is closed while a node works with it")
	default:
	}
	close(gate)
	<-gone
	if r := e.Settle(run.ID); r.Status != domain.RunCompleted {
		t.Fatalf("the run is %s: %+v", r.Status, r.Error)
	}
	if got := answers(t, e, run.ID); got != `a "old", b "new"` {
		t.Errorf("the run's nodes answered %s", got)
	}
	idle, err := e.Reconfigure(engine.Setup{Registry: textHandler("last")})
	if err != nil {
		t.Fatal(err)
	}
	<-idle // nothing uses the previous setup
}

// answers returns the outputs of a run's nodes, in the order in which they ended.
func answers(t *testing.T, e *enginetest.Engine, run string) string {
	t.Helper()
	rows, err := e.Store.Journal(t.Context(), run, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range rows {
		if r.Final {
			out = append(out, fmt.Sprintf("%s %s", r.Node, r.Output))
		}
	}
	return strings.Join(out, ", ")
}

// O13: limits may change while runs work and wait. Held slots remain held, no further slots are
// granted above the limit, and every run ends.
func TestLimitsChangeUnderRuns(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	at, most := 0, 0
	registry := func() *enginetest.Registry {
		return enginetest.NewRegistry().
			Unrecorded().
			Handle("work", walk.EffectRead, func(context.Context, *engine.Call) (engine.Result, error) {
				mu.Lock()
				at++
				most = max(most, at)
				mu.Unlock()
				runtime.Gosched()
				mu.Lock()
				at--
				mu.Unlock()
				return engine.Result{Output: 1}, nil
			})
	}
	e := enginetest.OpenOn(t, storetest.Open(t), registry(), engine.Options{MaxRunning: 4, MaxNodes: 4})
	v := e.Save("id: p\nnodes:\n  a: {type: work}\n  b: {type: work}\n  c: {type: work, needs: [a, b]}\n")
	var ids []string
	for i := range 120 {
		ids = append(ids, e.Begin(v, "").ID)
		if _, err := e.Reconfigure(engine.Setup{Registry: registry(), MaxRunning: 1 + i%5, MaxNodes: 1 + (i*7)%6}); err != nil {
			t.Fatal(err)
		}
	}
	gone, err := e.Reconfigure(engine.Setup{Registry: registry(), MaxRunning: 2, MaxNodes: 1})
	if err != nil {
		t.Fatal(err)
	}
	<-gone // the runs that began under the higher limit have ended
	for _, id := range ids {
		if r := e.Settle(id); r.Status != domain.RunCompleted {
			t.Errorf("run %s is %s: %+v", id, r.Status, r.Error)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if most > 6 {
		t.Errorf("%d nodes ran at once; at most 6 might", most)
	}
	// The engine frees slots after it has published the end of the run.
	for deadline := time.Now().Add(time.Minute); e.Load() != (engine.Load{}); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("something is still held: %+v", e.Load())
		}
	}
}
