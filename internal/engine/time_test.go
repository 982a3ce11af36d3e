package engine_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/planner/walk"
)

// inBubble runs f with an engine and a store in virtual time.
func inBubble(t *testing.T, reg *enginetest.Registry, f func(t *testing.T, e *enginetest.Engine, reopen func() *enginetest.Engine)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(context.Background(), filepath.Join(dir, "kairos.db"), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		open := func() *enginetest.Engine { return enginetest.OpenOn(t, s, reg, engine.Options{}) }
		e := open()
		f(t, e, func() *enginetest.Engine { e.Close(); e = open(); return e })
		e.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestBackoffIsWaitedForAndSurvivesRestarts(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var at []time.Time
	reg := enginetest.NewRegistry().Handle("flap", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
		mu.Lock()
		at = append(at, time.Now())
		mu.Unlock()
		switch c.Attempt {
		case 1:
			return engine.Result{}, errors.New("first")
		case 2:
			return engine.Result{}, &walk.Failure{Code: "busy", Message: "429", RetryAfter: time.Hour}
		}
		return engine.Result{Output: "ok"}, nil
	})
	inBubble(t, reg, func(t *testing.T, e *enginetest.Engine, reopen func() *enginetest.Engine) {
		run := e.Run(`{nodes: {a: {type: flap, retry: {max_attempts: 3, backoff: [10s, 20s]}}}}`, "")
		e.Until(run.ID, domain.RunWaiting, domain.WaitRetry)
		time.Sleep(3 * time.Second)
		e = reopen()
		time.Sleep(8 * time.Second)
		r := e.Until(run.ID, domain.RunWaiting, domain.WaitRetry)
		mu.Lock()
		attempts := len(at)
		mu.Unlock()
		if attempts != 2 || time.Until(r.DueAt) < 50*time.Minute {
			t.Fatalf("after 11s: %d attempts, due in %s; want 2 and about an hour (Retry-After)", attempts, time.Until(r.DueAt))
		}
		time.Sleep(time.Hour + 6*time.Minute) // plus a tenth, which spreads retries of runs that failed together
		if r := e.Settle(run.ID); string(r.Output) != `"ok"` || r.Crashes != 0 {
			t.Errorf("got %s %s, %d crashes", r.Status, r.Output, r.Crashes)
		}
		mu.Lock()
		defer mu.Unlock()
		if first := at[1].Sub(at[0]); first < 10*time.Second || first > 11*time.Second {
			t.Errorf("the second attempt came after %s, want 10s", first)
		}
	})
}

// A run that is paused before its start time, and continues before it, still starts at that time.
func TestAPauseKeepsTheStartTime(t *testing.T) {
	t.Parallel()
	inBubble(t, enginetest.NewRegistry(), func(t *testing.T, e *enginetest.Engine, reopen func() *enginetest.Engine) {
		start := func() domain.Run {
			run, err := e.Start(t.Context(), enginetest.Operator,
				domain.StartRequest{Hash: e.Save(`{nodes: {a: {type: set, input: 2}}}`).Hash, StartAt: time.Now().Add(time.Hour)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.Do(run.ID, domain.ActionPause); err != nil {
				t.Fatal(err)
			}
			return run
		}
		unpause := func(run domain.Run) {
			if _, err := e.Do(run.ID, domain.ActionUnpause); err != nil {
				t.Fatal(err)
			}
		}
		status := func(run domain.Run, want domain.RunStatus) {
			t.Helper()
			if r, err := e.Store.Run(t.Context(), run.ID); err != nil || r.Status != want || !r.StartAt.Equal(run.StartAt) {
				t.Errorf("the run is %s and starts %s, want %s %v", r.Status, r.StartAt, want, err)
			}
		}
		early, late := start(), start()
		e = reopen()
		unpause(early)
		time.Sleep(59 * time.Minute)
		status(early, domain.RunQueued)
		time.Sleep(2 * time.Minute)
		status(early, domain.RunCompleted)
		status(late, domain.RunWaiting) // paused at its start time
		unpause(late)
		e.Settle(late.ID)
		status(late, domain.RunCompleted)
	})
}

func TestTimersAreDurable(t *testing.T) {
	t.Parallel()
	inBubble(t, enginetest.NewRegistry(), func(t *testing.T, e *enginetest.Engine, reopen func() *enginetest.Engine) {
		start := time.Now()
		run := e.Run(
			`{nodes: {a: {type: set, input: 1}, w: {type: wait, input: {for: 10m}}, b: {type: set}}, edges: [{from: a, to: w}, {from: w, to: b}]}`,
			"",
		)
		paused := e.Run(`{nodes: {w: {type: wait, input: {for: 5m}}}}`, "")
		late, err := e.Start(
			t.Context(),
			enginetest.Operator,
			domain.StartRequest{Hash: e.Save(`{nodes: {a: {type: set, input: 2}}}`).Hash, StartAt: start.Add(7 * time.Minute)},
		)
		if err != nil {
			t.Fatal(err)
		}
		e.Until(run.ID, domain.RunWaiting, domain.WaitTimer)
		e.Until(paused.ID, domain.RunWaiting, domain.WaitTimer)
		if _, err := e.Do(paused.ID, domain.ActionPause); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Minute)
		if r, _ := e.Store.Run(t.Context(), late.ID); r.Status != domain.RunQueued {
			t.Errorf("a run that starts in 7 minutes is %s after 6", r.Status)
		}
		if r, _ := e.Store.Run(t.Context(), paused.ID); r.WaitReason != domain.WaitPaused {
			t.Errorf("a due timer moved a paused run: %s %s", r.Status, r.WaitReason)
		}
		e = reopen()
		if _, err := e.Do(paused.ID, domain.ActionUnpause); err != nil {
			t.Fatal(err)
		}
		e.Until(paused.ID, domain.RunCompleted, "")
		time.Sleep(4*time.Minute + time.Second)
		if r := e.Settle(run.ID); string(r.Output) != "1" {
			t.Errorf("got %s %s\n%s", r.Status, r.Output, e.Journal(run.ID))
		}
		if r := e.Settle(late.ID); string(r.Output) != "2" {
			t.Errorf("got %s %s", r.Status, r.Output)
		}
	})
}

func TestRetryNow(t *testing.T) {
	t.Parallel()
	n := 0
	reg := enginetest.NewRegistry().Handle("flap", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
		if n++; n == 1 {
			return engine.Result{}, errors.New("first")
		}
		return engine.Result{Output: n}, nil
	})
	inBubble(t, reg, func(t *testing.T, e *enginetest.Engine, _ func() *enginetest.Engine) {
		run := e.Run(`{nodes: {a: {type: flap, retry: {max_attempts: 2, backoff: [10h]}}}}`, "")
		e.Until(run.ID, domain.RunWaiting, domain.WaitRetry)
		start := time.Now()
		if _, err := e.Do(run.ID, domain.ActionRetryNow); err != nil {
			t.Fatal(err)
		}
		if r := e.Settle(run.ID); r.Status != domain.RunCompleted || time.Since(start) > time.Second {
			t.Errorf("got %s after %s", r.Status, time.Since(start))
		}
	})
}

func TestAHandlerThatIgnoresACancelIsAbandoned(t *testing.T) {
	t.Parallel()
	inBubble(t, enginetest.NewRegistry().Handle("deaf", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
		time.Sleep(time.Hour)
		return engine.Result{}, nil
	}), func(t *testing.T, e *enginetest.Engine, _ func() *enginetest.Engine) {
		run := e.Run(`{nodes: {a: {type: deaf}}}`, "")
		e.Until(run.ID, domain.RunRunning, "")
		start := time.Now()
		r, err := e.Do(run.ID, domain.ActionCancel)
		if err != nil || r.Status != domain.RunCancelled || time.Since(start) > 5*time.Second {
			t.Errorf("got %s after %s, %v; want cancelled within 5s\n%s", r.Status, time.Since(start), err, e.Journal(run.ID))
		}
		time.Sleep(2 * time.Hour)
	})
}

func TestMaxDurationCountsRunningTimeOnly(t *testing.T) {
	t.Parallel()
	reg := enginetest.NewRegistry().Handle("work", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
		time.Sleep(40 * time.Second)
		return engine.Result{Output: 1}, nil
	})
	inBubble(t, reg, func(t *testing.T, e *enginetest.Engine, _ func() *enginetest.Engine) {
		run := e.Run(
			`{limits: {max_duration: 1m}, nodes: {a: {type: work}, w: {type: wait, input: {for: 1h}}, b: {type: work}, c: {type: work}},
			edges: [{from: a, to: w}, {from: w, to: b}, {from: b, to: c}]}`,
			"",
		)
		time.Sleep(3 * time.Hour)
		r := e.Settle(run.ID)
		if r.WaitReason != domain.WaitBudget || r.Steps != 2 { // the second call is repeatable, so it is cancelled
			t.Errorf("got %s %s after %d steps, want budget after 2; running time %s", r.Status, r.WaitReason, r.Steps, r.RunningTime)
		}
	})
}

// counted closes enough when journals were read 500 times.
type counted struct {
	*store.Store
	reads  atomic.Int64
	enough chan struct{}
}

func (c *counted) Journal(ctx context.Context, run string, after int64) ([]domain.Entry, error) {
	if c.reads.Add(1) == 500 {
		close(c.enough)
	}
	return c.Store.Journal(ctx, run, after)
}

// A due retry waits for a slot while all slots are taken. Its timer does not fire repeatedly in the
// meantime.
func TestADueRetryWaitsForASlotQuietly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(context.Background(), filepath.Join(dir, "kairos.db"), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		c := &counted{Store: s, enough: make(chan struct{})}
		go1, begun := make(chan struct{}), make(chan struct{})
		reg := enginetest.NewRegistry().
			Handle("flap", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
				if c.Attempt == 1 {
					return engine.Result{}, errors.New("first")
				}
				return engine.Result{Output: "ok"}, nil
			}).
			Handle("long", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
				close(begun)
				select {
				case <-go1:
				case <-c.enough:
				}
				return engine.Result{}, nil
			})
		e := enginetest.OpenWith(t, s, c, reg, engine.Options{MaxRunning: 1})
		flap := e.Run(`{nodes: {a: {type: flap, retry: {max_attempts: 2, backoff: [10s]}}}}`, "")
		e.Until(flap.ID, domain.RunWaiting, domain.WaitRetry)
		long := e.Run(`{nodes: {a: {type: long}}}`, "")
		<-begun
		time.Sleep(time.Hour)
		if r, err := s.Run(t.Context(), flap.ID); err != nil || r.Status != domain.RunQueued {
			t.Errorf("the run is %s, %v", r.Status, err)
		}
		close(go1)
		e.Until(long.ID, domain.RunCompleted, "")
		if r := e.Settle(flap.ID); string(r.Output) != `"ok"` {
			t.Errorf("got %s %s", r.Status, r.Output)
		}
		if n := c.reads.Load(); n > 20 {
			t.Errorf("the journals were read %d times", n)
		}
	})
}

// The clock is set back by two days while kairosd is down. Runs continue. Timers fire once, when the
// clock reaches their time. New rows follow the others by number, not by time (A48).
func TestTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	reg := enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
		if calls.Add(1); c.Attempt == 1 && c.Node.ID == "flaky" {
			return engine.Result{}, errors.New("not yet")
		}
		return engine.Result{Output: c.IdempotencyKey}, nil
	})
	path := filepath.Join(t.TempDir(), "kairos.db")
	life := func(f func(t *testing.T, s *store.Store, e *enginetest.Engine)) {
		synctest.Test(t, func(t *testing.T) { // each starts at the same time
			s, err := store.Open(context.Background(), path, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			e := enginetest.OpenOn(t, s, reg, engine.Options{})
			f(t, s, e)
			e.Close()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	var waits, retries, asks, done string
	life(func(t *testing.T, _ *store.Store, e *enginetest.Engine) {
		time.Sleep(48 * time.Hour)
		done = e.Run(`{nodes: {a: {type: call}}}`, "").ID
		e.Settle(done)
		waits = e.Run(
			`{nodes: {a: {type: call}, b: {type: wait, needs: [a], input: {for: 1h}}, c: {type: call, needs: [b]}}, limits: {max_duration: 3h}}`,
			"",
		).ID
		retries = e.Run(`{nodes: {flaky: {type: call, retry: {max_attempts: 3, backoff: [2h]}}}}`, "").ID
		asks = e.Run(`{nodes: {a: {type: approval, input: {message: "well?", timeout: 3h, on_timeout: approve}}}}`, "").ID
		e.Until(waits, domain.RunWaiting, domain.WaitTimer)
		e.Until(retries, domain.RunWaiting, domain.WaitRetry)
		e.Until(asks, domain.RunWaiting, domain.WaitApproval)
	})
	life(func(t *testing.T, s *store.Store, e *enginetest.Engine) {
		began := time.Now()
		fresh := e.Run(`{nodes: {a: {type: call}, b: {type: wait, needs: [a], input: {for: 1h}}}}`, "").ID
		for _, x := range []struct {
			run    string
			reason domain.WaitReason
			until  time.Duration // by the clock
		}{{fresh, domain.WaitTimer, time.Hour}, {waits, domain.WaitTimer, 49 * time.Hour},
			{retries, domain.WaitRetry, 50 * time.Hour}, {asks, domain.WaitApproval, 51 * time.Hour}} {
			time.Sleep(time.Until(began.Add(x.until - time.Minute)))
			e.Until(x.run, domain.RunWaiting, x.reason)
			time.Sleep(30 * time.Minute) // a retry is delayed by up to a tenth
			if r, err := s.Run(context.Background(), x.run); err != nil || !r.Status.Final() ||
				x.run != asks && r.Status != domain.RunCompleted {
				t.Errorf("half an hour after %s the run that waited for %s is %s: %+v, %v", x.until, x.reason, r.Status, r.Error, err)
			}
		}
		if n := calls.Load(); n != 6 {
			t.Errorf("%d calls, want 6: each once, and the flaky one twice", n)
		}
		list, err := s.Runs(context.Background(), domain.RunFilter{})
		if err != nil || len(list.Items) != 5 || list.Items[0].ID != fresh || list.Items[4].ID != done {
			t.Errorf("the newest run is not first: %+v, %v", list.Items, err)
		}
		checks, err := recovery.Verify(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range checks {
			if len(c.Problems) > 0 {
				t.Errorf("%s: %v", c.Name, c.Problems)
			}
		}
	})
}

// A run that is paused while an attempt fails keeps the time of its retry. After it is continued
// and kairosd restarts, the retry has the same time.
func TestAPauseKeepsTheTimeOfARetry(t *testing.T) {
	t.Parallel()
	began, fail := make(chan struct{}), make(chan struct{})
	reg := enginetest.NewRegistry().Handle("late", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
		close(began)
		<-fail
		return engine.Result{}, &walk.Failure{Code: "boom", Message: "not now"}
	})
	e := enginetest.Open(t, reg)
	run := e.Run(`{nodes: {a: {type: late, retry: {max_attempts: 2, backoff: [1h]}}}}`, "")
	<-began
	if _, err := e.Do(run.ID, domain.ActionPause); err != nil {
		t.Fatal(err)
	}
	close(fail)
	e.Until(run.ID, domain.RunWaiting, domain.WaitPaused)
	if _, err := e.Do(run.ID, domain.ActionUnpause); err != nil {
		t.Fatal(err)
	}
	if r := e.Until(run.ID, domain.RunWaiting, domain.WaitRetry); r.DueAt.IsZero() {
		t.Errorf("the retry is due at no time\n%s", e.Journal(run.ID))
	}
}
