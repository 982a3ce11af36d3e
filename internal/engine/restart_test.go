package engine_test

import (
	"context"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// With clean restarts under load, every run ends, no completed step runs again, and no restart
// counts as a crash.
func TestRestartsUnderLoad(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	reg := enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, func(ctx context.Context, c *engine.Call) (engine.Result, error) {
		runtime.Gosched()
		return echo(ctx, c)
	})
	e := enginetest.OpenOn(t, s, reg, engine.Options{MaxRunning: 16, MaxNodes: 8})
	mixed := e.Save(`
id: mixed
nodes:
  a: {type: set, input: {list: [1, 2, 3, 4]}}
  b: {type: call, foreach: "${output.a.list}", input: "${item}"}
  c: {type: call, input: "${output.b}"}
  d: {type: wait, input: {for: 1ms}}
  e: {type: set, input: "${output.c}"}
  f: {type: call}
edges: [{from: a, to: b}, {from: b, to: c}, {from: c, to: d}, {from: d, to: e}, {from: e, to: f}]`)
	var ids []string
	for range 60 {
		ids = append(ids, e.Begin(mixed, "").ID)
	}
	for range 6 {
		// Let some runs make progress between restarts.
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		target := len(reg.Calls()) + 40
		for len(reg.Calls()) < target && ctx.Err() == nil && !allDone(t, e, ids) {
			runtime.Gosched()
		}
		cancel()
		e.Close()
		e = enginetest.OpenOn(t, s, reg, engine.Options{MaxRunning: 16, MaxNodes: 8})
	}
	for _, id := range ids {
		r := e.Until(id, domain.RunCompleted, "")
		if string(r.Output) != "[1,2,3,4]" || r.Crashes != 0 || r.Steps != 9 {
			t.Errorf("got %s, %d crashes, %d steps\n%s", r.Output, r.Crashes, r.Steps, e.Journal(id))
		}
	}
	type key struct {
		run, node   string
		visit, item int
	}
	attempts := map[key]int{}
	for _, c := range reg.Calls() {
		k := key{c.Run, c.Node, c.Visit, c.Item}
		if c.Attempt <= attempts[k] {
			t.Errorf("%+v: attempt %d came after attempt %d", k, c.Attempt, attempts[k])
		}
		attempts[k] = c.Attempt
	}
}

func allDone(t *testing.T, e *enginetest.Engine, ids []string) bool {
	t.Helper()
	r, err := e.Store.Run(t.Context(), ids[len(ids)-1])
	return err == nil && r.Status.Final()
}

func TestDelete(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	v := e.Save(`{nodes: {a: {type: approval, input: {message: m}}}}`)
	run := e.Settle(e.Begin(v, "").ID)
	if _, err := e.Do(run.ID, domain.ActionDelete); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("deleting a run that waits: %v", err)
	}
	if _, err := e.Do(run.ID, domain.ActionCancel); err != nil {
		t.Fatal(err)
	}
	r, err := e.Do(run.ID, domain.ActionDelete)
	if err != nil || r.DeletedAt.IsZero() {
		t.Errorf("got deleted at %s, %v", r.DeletedAt, err)
	}
	if _, err := e.Do(run.ID, domain.ActionResume); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("resuming a deleted run: %v", err)
	}
}

func TestActionsRefuseInvalidStates(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	run := e.Settle(e.Run(`{nodes: {a: {type: approval, input: {message: m}}}}`, "").ID)
	for name, r := range map[string]domain.ActionRequest{
		"an unknown action":  {Action: "sing"},
		"cancel with input":  {Action: domain.ActionCancel, Input: domain.RawJSON(`1`)},
		"resume at":          {Action: domain.ActionResume, At: 3},
		"limits without any": {Action: domain.ActionLimits},
		"negative limits":    {Action: domain.ActionLimits, Limits: domain.Limits{MaxSteps: -1}},
		"a fork beyond":      {Action: domain.ActionFork, At: 999},
		"an edit of nothing": {Action: domain.ActionFork, Edits: map[string]domain.RawJSON{"zz": domain.RawJSON(`1`)}},
	} {
		r.Run = run.ID
		if _, err := e.Act(t.Context(), enginetest.Operator, r); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
	if _, err := e.Act(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionCancel,
		Rev: 99}); domain.CodeOf(
		err,
	) != domain.CodeStale {
		t.Errorf("an old revision: %v", err)
	}
	if _, err := e.Act(t.Context(), enginetest.Operator, domain.ActionRequest{Run: domain.NewID(),
		Action: domain.ActionCancel}); domain.CodeOf(
		err,
	) != domain.CodeNotFound {
		t.Errorf("an unknown run: %v", err)
	}
}

// All attempts of a visit have the same key, also in a restored database. A new visit, a rerun, and
// a fork have their own keys (G6).
func TestOneKeyPerVisit(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var keys []string
	reg := enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		if keys = append(keys, c.IdempotencyKey); len(keys) == 1 {
			return engine.Result{}, &walk.Failure{Code: "busy", Message: "not now", RetryAfter: time.Hour}
		}
		return engine.Result{Output: "done"}, nil
	})
	path := filepath.Join(t.TempDir(), "kairos.db")
	var run domain.Run
	for _, restored := range []string{"", "backup"} {
		s, err := store.Open(t.Context(), path, store.Options{Restored: restored})
		if err != nil {
			t.Fatal(err)
		}
		e := enginetest.OpenOn(t, s, reg, engine.Options{})
		if restored == "" {
			run = e.Run(`{nodes: {a: {type: call, retry: {max_attempts: 3, backoff: [1h]}}}}`, "")
			e.Until(run.ID, domain.RunWaiting, domain.WaitRetry)
		} else {
			for _, act := range []domain.Action{domain.ActionRelease, domain.ActionRetryNow} {
				if _, err := e.Do(run.ID, act); err != nil {
					t.Fatal(err)
				}
			}
			if r := e.Settle(run.ID); r.Status != domain.RunCompleted {
				t.Fatalf("the run is %s: %+v", r.Status, r.Error)
			}
			for _, act := range []domain.Action{domain.ActionRerun, domain.ActionFork} {
				r, err := e.Do(run.ID, act)
				if err != nil {
					t.Fatal(err)
				}
				e.Until(r.ID, domain.RunWaiting, domain.WaitHeld) // the server is still on hold
				if _, err := e.Do(r.ID, domain.ActionRelease); err != nil {
					t.Fatal(err)
				}
				e.Settle(r.ID)
			}
		}
		e.Close()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(keys) != 4 || keys[0] != keys[1] || keys[2] == keys[1] || keys[3] == keys[1] || keys[2] == keys[3] {
		t.Errorf("the keys of two attempts, a rerun and a fork are %q", keys)
	}
}
