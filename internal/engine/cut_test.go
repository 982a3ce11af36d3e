package engine_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// This plan waits in every way: for a child run, timers, retries, an approval that expires, items, and
// blocks.
const waitsEverywhere = `
id: waits
nodes:
  begin: {type: set, input: {list: [1, 2, 3]}}
  child: {type: plan, plan: helper, input: {n: 4}}
  flap:  {type: flap, input: "${last}", retry: {max_attempts: 3, backoff: [1ms]}}
  each:  {type: wait, foreach: "${output.begin.list}", input: {for: 1ms}, max_parallel: 2}
  ask:   {type: approval, input: {message: sure?, timeout: 1ms, on_timeout: approve}}
  block:
    foreach: "${output.begin.list}"
    do: {nodes: {call: {type: call, input: {n: "${item}"}}, wait: {type: wait, needs: [call], input: {for: 1ms}}}}
  end:   {type: call, input: {approved: "${last.approved}", child: "${output.child}", flap: "${output.flap}"}}
edges:
  - {from: begin, to: child}
  - {from: child, to: flap}
  - {from: flap, to: each}
  - {from: each, to: block}
  - {from: block, to: ask}
  - {from: ask, to: end}
`

// TestWaitsSurviveEveryCut cuts the power after every checkpoint of a run with every kind of wait,
// and lets a new engine finish it.
func TestWaitsSurviveEveryCut(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	registry := func() *enginetest.Registry {
		return enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, echo).
			Handle("flap", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
				if c.Attempt == 1 {
					return engine.Result{}, errors.New("first")
				}
				return engine.Result{Output: "flapped"}, nil
			})
	}
	first := enginetest.OpenOn(t, s, registry(), engine.Options{})
	first.Save(
		`{id: helper, nodes: {a: {type: call, input: {n: "${input.n}"}}, w: {type: wait, input: {for: 1ms}}}, edges: [{from: a, to: w}]}`,
	)
	v := first.Save(waitsEverywhere)
	first.Close()
	for n := 0; ; n++ {
		if !cutOnce(t, s, registry(), v, n) {
			return
		}
		if n > 60 {
			t.Fatal("the run never ends")
		}
	}
}

func cutOnce(t *testing.T, s *store.Store, reg *enginetest.Registry, v domain.Version, n int) bool {
	t.Helper()
	cut := enginetest.NewCut(s, n)
	e := enginetest.OpenWith(t, s, cut, reg, engine.Options{})
	run := e.Begin(v, "")
	whole := make(chan struct{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		defer close(whole)
		_, _ = e.WaitFor(ctx, run.ID, func(r domain.Run) bool { return r.Status.Final() })
	}()
	died := true
	select {
	case <-cut.Dead():
	case <-whole:
		died = false
	}
	e.Close()
	<-whole
	durable := completedCalls(t, s, run.ID)
	before := len(reg.Calls())
	e = enginetest.OpenOn(t, s, reg, engine.Options{})
	defer e.Close()
	r := e.Until(run.ID, domain.RunCompleted, "")
	want := `{"approved":true,"child":{"n":4},"flap":"flapped"}`
	if r.Status != domain.RunCompleted || string(r.Output) != want {
		t.Fatalf("cut after %d checkpoints: got %s %s, want %s\n%s", n, r.Status, r.Output, want, e.Journal(run.ID))
	}
	for _, c := range reg.Calls()[before:] {
		if durable[c.Run+c.Node] {
			t.Errorf("cut after %d checkpoints: %s ran again though its completion was durable", n, c.Node)
		}
	}
	lineage, err := s.Lineage(t.Context(), run.ID)
	if err != nil || len(lineage) != 4 { // the child, and a run per item of the block
		t.Errorf("cut after %d checkpoints: %d children, %v", n, len(lineage), err)
	}
	return died
}

// childless loses the power when a child run is to be created.
type childless struct{ *enginetest.Cut }

func (c childless) CreateRun(ctx context.Context, r domain.NewRun) (domain.Run, bool, error) {
	if r.Parent == nil {
		return c.Store.CreateRun(ctx, r)
	}
	c.Kill()
	return domain.Run{}, false, domain.Errorf(domain.CodeUnavailable, "the power is gone")
}

// The power fails while a run waits for a child that does not exist yet, and other steps run. The
// next engine creates the child.
func TestAChildIsCreatedAfterACrashWhileOtherStepsRun(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	hang := true
	registry := enginetest.NewRegistry().
		Handle("call", walk.EffectIdempotent, func(ctx context.Context, c *engine.Call) (engine.Result, error) {
			if hang {
				<-ctx.Done()
				return engine.Result{}, ctx.Err()
			}
			return echo(ctx, c)
		})
	first := enginetest.OpenOn(t, s, registry, engine.Options{})
	first.Save(`{id: helper, nodes: {a: {type: set, input: {n: "${input.n}"}}}}`)
	v := first.Save(
		`{id: beside, nodes: {child: {type: plan, plan: helper, input: {n: 4}}, other: {type: call, needs: [go], input: {n: 1}}, go: {type: set, input: 1},
end: {type: set, needs: [child, other], input: "${output.child}"}}, edges: []}`,
	)
	first.Close()
	cut := enginetest.NewCut(s, 1000)
	e := enginetest.OpenWith(t, s, childless{cut}, registry, engine.Options{})
	run := e.Begin(v, "")
	<-cut.Dead()
	e.Close()
	hang = false
	if r, err := s.Run(t.Context(), run.ID); err != nil || r.Status != domain.RunRunning {
		t.Fatalf("the run is %s, %v", r.Status, err)
	}
	e = enginetest.OpenOn(t, s, registry, engine.Options{})
	defer e.Close()
	if r := e.Until(run.ID, domain.RunCompleted, ""); string(r.Output) != `{"n":4}` {
		t.Errorf("got %s", r.Output)
	}
}

// After a power cut at any checkpoint, no child is active whose run has failed or was cancelled.
func TestNoChildContinuesWithoutItsRunAfterAPowerCut(t *testing.T) {
	t.Parallel()
	for cut := 0; ; cut++ {
		s := storetest.Open(t)
		working := make(chan struct{}, 8)
		reg := enginetest.NewRegistry().
			Handle("work", walk.EffectIdempotent, func(ctx context.Context, _ *engine.Call) (engine.Result, error) {
				working <- struct{}{}
				<-ctx.Done()
				return engine.Result{}, context.Cause(ctx)
			}).
			Handle("fails", walk.EffectIdempotent, func(ctx context.Context, _ *engine.Call) (engine.Result, error) {
				select {
				case <-working:
				case <-ctx.Done():
				}
				return engine.Result{}, &walk.Failure{Code: "boom", Message: "it broke", NoEffect: true}
			})
		through := enginetest.NewCut(s, cut)
		e := enginetest.OpenWith(t, s, through, reg, engine.Options{})
		e.Save(`{id: child, nodes: {a: {type: work}}}`)
		run := e.Run(`{nodes: {sub: {type: plan, plan: child}, b: {type: fails}, end: {type: set, needs: [sub, b]}}, edges: []}`, "")
		over := make(chan struct{})
		go func() {
			final := func(r domain.Run) bool { return r.Status.Final() }
			if _, err := e.WaitFor(t.Context(), run.ID, final); err != nil {
				return
			}
			list, err := s.Runs(t.Context(), domain.RunFilter{Parent: run.ID})
			if err != nil || len(list.Items) != 1 {
				return
			}
			if _, err := e.WaitFor(t.Context(), list.Items[0].ID, final); err == nil {
				close(over)
			}
		}()
		select {
		case <-through.Dead():
		case <-over:
			e.Close()
			if cut < 4 {
				t.Fatalf("the run and its child took %d checkpoints only", cut)
			}
			return
		}
		e.Close()
		e = enginetest.OpenOn(t, s, reg, engine.Options{})
		e.Until(run.ID, domain.RunFailed, "")
		list, err := s.Runs(t.Context(), domain.RunFilter{Parent: run.ID})
		if err != nil {
			t.Fatal(err)
		}
		for _, child := range list.Items {
			e.Until(child.ID, domain.RunCancelled, "")
		}
		e.Close()
	}
}

// unnotified loses the power when a run would learn that its child has ended.
type unnotified struct {
	*enginetest.Cut
	parent *atomic.Value
}

func (d unnotified) Enqueue(list []domain.Checkpoint, done func(error)) {
	if list[0].Run == d.parent.Load() { // a list contains checkpoints of one run
		d.Kill()
	}
	d.Cut.Enqueue(list, done)
}

// One of two children has ended, and the power fails before the run records it, while the other
// child runs. At the next start, the run continues with the result of the first child.
func TestAChildsEndIsNoticedWhileAnotherRuns(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	until := func(c chan struct{}) engine.HandlerFunc {
		return func(ctx context.Context, _ *engine.Call) (engine.Result, error) {
			select {
			case <-c:
				return engine.Result{Output: "done"}, nil
			case <-ctx.Done():
				return engine.Result{}, ctx.Err()
			}
		}
	}
	soon, release := make(chan struct{}), make(chan struct{})
	registry := enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, echo).
		Handle("quick", walk.EffectIdempotent, until(soon)).Handle("slow", walk.EffectIdempotent, until(release))
	first := enginetest.OpenOn(t, s, registry, engine.Options{})
	first.Save(`{id: short, nodes: {a: {type: quick}}}`)
	first.Save(`{id: long, nodes: {a: {type: slow}}}`)
	v := first.Save(
		`{id: two, nodes: {q: {type: plan, plan: short}, l: {type: plan, plan: long}, after: {type: call, needs: [q], input: {n: 2}},
end: {type: set, needs: [after, l], input: "${output.after}"}}, edges: []}`,
	)
	first.Close()
	d := unnotified{enginetest.NewCut(s, 1000), &atomic.Value{}}
	e := enginetest.OpenWith(t, s, d, registry, engine.Options{})
	run := e.Begin(v, "")
	e.Until(run.ID, domain.RunWaiting, domain.WaitChild)
	d.parent.Store(run.ID)
	close(soon)
	<-d.Dead()
	e.Close()
	e = enginetest.OpenOn(t, s, registry, engine.Options{})
	defer e.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := e.WaitFor(ctx, run.ID, func(r domain.Run) bool { return r.Steps >= 2 }); err != nil {
		t.Errorf("what follows the child that ended does not run while the other works: %v\n%s", err, e.Journal(run.ID))
	}
	close(release)
	if r := e.Until(run.ID, domain.RunCompleted, ""); string(r.Output) != `{"n":2}` {
		t.Errorf("got %s", r.Output)
	}
}

// completedCalls lists the completed calls of the run and its children.
func completedCalls(t *testing.T, s *store.Store, run string) map[string]bool {
	t.Helper()
	done := map[string]bool{}
	runs := []string{run}
	lineage, err := s.Lineage(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range lineage {
		runs = append(runs, r.ID)
	}
	for _, id := range runs {
		rows, err := s.Journal(t.Context(), id, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if row.Final {
				done[id+row.Node] = true
			}
		}
	}
	return done
}

// A start with many unfinished runs accepts work at once. Each run is folded when it gets a slot.
func TestManyUnfinishedRunsDoNotDelayTheStart(t *testing.T) {
	if testing.Short() {
		t.Skip("stores 10,000 runs")
	}
	t.Parallel()
	s := storetest.Open(t)
	reg := enginetest.NewRegistry()
	e := enginetest.OpenOn(t, s, reg, engine.Options{})
	v := e.Save(`{nodes: {w: {type: wait, input: {for: 10h}}}}`)
	quick := e.Save(`{nodes: {a: {type: set, input: 1}}}`)
	errs := make(chan error, 50)
	const runs = 10_000
	for range 50 {
		go func() {
			for range runs / 50 {
				if _, err := e.Start(t.Context(), enginetest.Operator, domain.StartRequest{Hash: v.Hash}); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range 50 {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	last, err := s.Runs(t.Context(), domain.RunFilter{Page: domain.Page{Limit: 1}})
	if err != nil {
		t.Fatal(err)
	}
	e.Until(last.Items[0].ID, domain.RunWaiting, domain.WaitTimer)
	e.Close()
	reads := &countedReads{Store: s}
	e = enginetest.OpenWith(t, s, reads, reg, engine.Options{})
	e.Until(e.Begin(quick, "").ID, domain.RunCompleted, "")
	read := reads.n.Load()
	t.Logf("%d unfinished runs: %d journals were read until the first new run completed", runs, read)
	if read > runs/10 {
		t.Errorf("until the first run after a start with %d unfinished ones completed, %d journals were read", runs, read)
	}
	if _, err := e.Do(last.Items[0].ID, domain.ActionCancel); err != nil || reads.n.Load() == read {
		t.Errorf("a cancel of one of them reads no journal: the count is wrong (%v)", err)
	}
}

// countedReads is a store that counts how many journals the engine reads.
type countedReads struct {
	*store.Store
	n atomic.Int64
}

func (s *countedReads) Journal(ctx context.Context, run string, after int64) ([]domain.Entry, error) {
	s.n.Add(1)
	return s.Store.Journal(ctx, run, after)
}
