package engine_test

import (
	"context"
	"fmt"
	"strings"
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

// share stores a budget of tokens for all calls, as the operation does.
func share(t *testing.T, e *enginetest.Engine, hard float64) domain.Budget {
	t.Helper()
	b := domain.Budget{ID: domain.NewID(), Key: "all", BudgetSpec: domain.BudgetSpec{Scope: "all", Period: "day", Zone: "UTC",
		Unit: "tokens",
		Soft: 1, Hard: hard}}
	changeBudget(t, e, b.ID, func(tx *store.Tx) error { return tx.Budgets().Create(b, nil) })
	return b
}

// changeBudget changes a budget, as an operation does.
func changeBudget(t *testing.T, e *enginetest.Engine, id string, f func(tx *store.Tx) error) {
	t.Helper()
	waiting, err := e.Store.BudgetWaiters(t.Context(), id, 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.Store.Do(store.Operation{Name: "budget", By: enginetest.Operator, At: time.Now()},
		func(tx *store.Tx) (string, error) {
			return "", f(tx)
		}); err != nil {
		t.Fatal(err)
	}
	if b, err := e.Store.Budget(t.Context(), id); err == nil {
		id, waiting = b.ID, nil
	}
	e.Timed().BudgetChanged(t.Context(), id, waiting)
}

func raiseBudget(t *testing.T, e *enginetest.Engine, id string, amount float64) {
	t.Helper()
	changeBudget(t, e, id, func(tx *store.Tx) error {
		b, err := tx.Budgets().Get(id)
		if err != nil {
			return err
		}
		return tx.Budgets().Raise(id, b.Window.Start, b.Window.End, amount)
	})
}

// window returns the current window of a budget.
func window(t *testing.T, e *enginetest.Engine, id string) domain.BudgetWindow {
	t.Helper()
	b, err := e.Store.Budget(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return b.Window
}

const debatePlan = `{nodes: {a: {type: debate}}}`

// At the hard line, the run waits, and names the budget. After a raise, it continues after its last recorded call,
// and no call is paid twice. A restart changes nothing.
func TestARunWaitsForASharedBudget(t *testing.T) {
	t.Parallel()
	d, reg := newDebate(5, 10, 90)
	s := storetest.Open(t)
	e := enginetest.OpenOn(t, s, reg, engine.Options{})
	b := share(t, e, 250)
	run := e.Run(debatePlan, "").ID
	r := e.Until(run, domain.RunWaiting, domain.WaitBudget)
	if d.total() != 3 || d.caps[2] != 40 || !strings.Contains(r.Headline, "budget all") {
		t.Fatalf("%d calls, caps %v, %s\n%s", d.total(), d.caps, r.Headline, e.Journal(run))
	}
	w := window(t, e, b.ID)
	if w.Used != 300 || w.Calls != 3 || w.SoftAt.IsZero() || w.HardAt.IsZero() || w.Estimated != 0 {
		t.Errorf("window %+v", w)
	}
	for range 2 { // the wait survives a restart
		det, err := e.Detail(t.Context(), run)
		if err != nil || len(det.Waits) != 1 || det.Waits[0].Budget != "all" || !det.Waits[0].Due.Equal(w.End) || !r.DueAt.Equal(w.End) {
			t.Fatalf("waits %+v due %s, %v", det.Waits, r.DueAt, err)
		}
		e.Close()
		e = enginetest.OpenOn(t, s, reg, engine.Options{})
	}
	if _, err := e.Do(run, domain.ActionResume); err != nil { // it tries again, and waits again
		t.Errorf("a resume: %v", err)
	}
	if e.Until(run, domain.RunWaiting, domain.WaitBudget); d.total() != 3 {
		t.Errorf("%d calls after a resume without room", d.total())
	}
	raiseBudget(t, e, b.ID, 40) // too little: the window has used 50 more than its line
	if r, err := e.Store.Run(t.Context(), run); err != nil || r.Status != domain.RunWaiting {
		t.Errorf("%s %v", r.Status, err)
	}
	raiseBudget(t, e, b.ID, 500)
	if r = e.Until(run, domain.RunCompleted, ""); r.Usage.InputTokens+r.Usage.OutputTokens != 500 || d.total() != 5 {
		t.Errorf("%d calls, usage %+v\n%s", d.total(), r.Usage, e.Journal(run))
	}
	for turn, n := range d.calls {
		if n != 1 {
			t.Errorf("call %d was made %d times", turn, n)
		}
	}
	if w := window(t, e, b.ID); w.Used != 500 {
		t.Errorf("window %+v", w)
	}
	if waiting, err := s.BudgetWaiters(t.Context(), b.ID, 10); err != nil || len(waiting) != 0 {
		t.Errorf("waiting %v, %v", waiting, err)
	}
}

// A run also continues when its budget is deleted, and when the next window begins.
func TestAParkedRunContinuesWithoutItsBudgetOrInTheNextWindow(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"delete", "window"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, reg := newDebate(2, 10, 90)
			var off atomic.Int64
			reg.Before = func(e *engine.Engine) {
				e.PutClock(func() time.Duration { return time.Duration(off.Load()) })
				e.LookAtClock(time.Millisecond)
			}
			e := enginetest.Open(t, reg)
			b := share(t, e, 100)
			run := e.Run(debatePlan, "").ID
			if e.Until(run, domain.RunWaiting, domain.WaitBudget); d.total() != 1 {
				t.Fatalf("%d calls", d.total())
			}
			if name == "delete" {
				changeBudget(t, e, b.ID, func(tx *store.Tx) error { return tx.Budgets().Delete(b.ID) })
			} else {
				off.Store(int64(24 * time.Hour))
			}
			if e.Until(run, domain.RunCompleted, ""); d.total() != 2 {
				t.Errorf("%d calls\n%s", d.total(), e.Journal(run))
			}
			if name == "delete" {
				return
			}
			windows, err := e.Store.BudgetWindows(t.Context(), b.ID, 10)
			if err != nil || len(windows) != 2 || windows[0].Used != 100 || windows[1].Used != 100 {
				t.Errorf("windows %+v, %v", windows, err)
			}
		})
	}
}

// A cancelled run does not wait any more, and its finally steps count without a line.
func TestFinallyStepsAreCountedAndNeverWait(t *testing.T) {
	t.Parallel()
	d, reg := newDebate(2, 10, 90)
	e := enginetest.Open(t, reg)
	b := share(t, e, 100)
	run := e.Run(`{nodes: {a: {type: debate}}, finally: {z: {type: debate}}}`, "").ID
	e.Until(run, domain.RunWaiting, domain.WaitBudget)
	if _, err := e.Do(run, domain.ActionCancel); err != nil {
		t.Fatal(err)
	}
	e.Until(run, domain.RunCancelled, "")
	if w := window(t, e, b.ID); w.Used != 300 || d.total() != 3 {
		t.Errorf("window %+v after %d calls", w, d.total())
	}
	if waiting, err := e.Store.BudgetWaiters(t.Context(), b.ID, 10); err != nil || len(waiting) != 0 {
		t.Errorf("waiting %v, %v", waiting, err)
	}
}

// A call whose outcome a crash hides counts with what it reserved. A repeated call counts again.
func TestAnInterruptedCallCountsWithItsReservation(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	cut, begun := enginetest.NewCut(s, 1000), make(chan struct{})
	var calls atomic.Int64
	reg := enginetest.NewRegistry().Handle("ask", walk.EffectIdempotent, func(ctx context.Context, c *engine.Call) (engine.Result,
		error) {
		c.Expect(1, engine.ExpectedUsage{Input: 10, Output: 90})
		_, err := c.Substep(1, "model", "x", walk.EffectIdempotent, func() (any, domain.Usage, error) {
			if calls.Add(1) == 1 {
				cut.Kill()
				close(begun)
				<-ctx.Done()
			}
			return "yes", domain.Usage{InputTokens: 10, OutputTokens: 20}, nil
		})
		if err != nil {
			return engine.Result{}, fmt.Errorf("model: %w", err)
		}
		return engine.Result{Output: "yes"}, nil
	})
	e := enginetest.OpenWith(t, s, cut, reg, engine.Options{})
	b := share(t, e, 150)
	run := e.Run(`{nodes: {a: {type: ask}}}`, "").ID
	<-begun
	e.Close()
	e = enginetest.OpenOn(t, s, reg, engine.Options{})
	e.Until(run, domain.RunCompleted, "")
	if w := window(t, e, b.ID); w.Used != 130 || w.Estimated != 100 || w.Calls != 2 || calls.Load() != 2 {
		t.Errorf("window %+v after %d calls", w, calls.Load())
	}
}

// Whatever runs share a budget, their calls together never use more than its hard line.
func TestRunsTogetherStayBelowTheLine(t *testing.T) {
	t.Parallel()
	var used, calls atomic.Int64
	reg := enginetest.NewRegistry().Handle("ask", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
		for n := 1; n <= 4; n++ {
			most := int64(40 + 10*c.Item)
			c.Expect(n, engine.ExpectedUsage{Input: 10, Output: most, OnLimit: func(output int64) { most = min(most, output) }})
			if _, err := c.Substep(n, "model", fmt.Sprint(n), walk.EffectIdempotent, func() (any, domain.Usage, error) {
				calls.Add(1)
				used.Add(10 + most)
				return "yes", domain.Usage{InputTokens: 10, OutputTokens: most}, nil
			}); err != nil {
				return engine.Result{}, fmt.Errorf("model: %w", err)
			}
		}
		return engine.Result{Output: "yes"}, nil
	})
	e := enginetest.Open(t, reg)
	const hard = 1000
	b := share(t, e, hard)
	v := e.Save(`{nodes: {a: {type: ask, foreach: "${input}", max_parallel: 3}}}`)
	var runs []string
	for range 8 {
		runs = append(runs, e.Begin(v, "[1, 2, 3]").ID)
	}
	for _, run := range runs {
		e.Settle(run)
	}
	w := window(t, e, b.ID)
	if used.Load() > hard || w.Used != float64(used.Load()) || w.Calls != calls.Load() || w.Used < hard-60 {
		t.Errorf("%d calls used %d of %d; window %+v", calls.Load(), used.Load(), hard, w)
	}
	raiseBudget(t, e, b.ID, 1e6)
	for _, run := range runs {
		e.Until(run, domain.RunCompleted, "")
	}
	if w := window(t, e, b.ID); calls.Load() != 8*3*4 || w.Used != float64(used.Load()) {
		t.Errorf("%d calls used %d; window %+v", calls.Load(), used.Load(), w)
	}
}

// A call that is in flight when a budget is created counts in it, also after the end of the daemon.
func TestACallInFlightCountsInANewBudget(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	began, release := make(chan struct{}), make(chan struct{})
	reg := enginetest.NewRegistry()
	reg.Add("ask", walk.EffectIdempotent, substepFunc(func(c *engine.Call) (engine.Result, error) {
		c.Expect(1, engine.ExpectedUsage{Input: 10, Output: 90, Provider: "p"})
		_, err := c.Substep(1, "model", "", walk.EffectIdempotent, func() (any, domain.Usage, error) {
			close(began)
			<-release
			return "said", domain.Usage{InputTokens: 10, OutputTokens: 30}, nil
		})
		return engine.Result{Output: "said"}, err
	}))
	e := enginetest.OpenOn(t, s, reg, engine.Options{})
	run := e.Run(`{nodes: {a: {type: ask}}}`, "").ID
	<-began
	b := share(t, e, 250)
	if got := e.Timed().ReservedFromBudget(b.ID); got != 100 {
		t.Errorf("%v reserved, want 100", got)
	}
	close(release)
	e.Until(run, domain.RunCompleted, "")
	if w := window(t, e, b.ID); w.Used != 40 || w.Calls != 1 || w.Estimated != 0 || e.Timed().ReservedFromBudget(b.ID) != 0 {
		t.Errorf("window %+v", w)
	}
	list, _, err := s.Spend(t.Context(), domain.SpendRead{Since: time.Now().Add(-time.Hour), Period: domain.OutcomeSlot})
	if err != nil || len(list) != 1 || list[0].Provider != "p" || list[0].Usage.OutputTokens != 30 {
		t.Errorf("the recorded usage: %+v, %v", list, err)
	}
}

// substepFunc is a handler whose side effects are all sub-steps.
type substepFunc func(c *engine.Call) (engine.Result, error)

func (substepFunc) Stepped() bool { return true }

func (f substepFunc) Handle(_ context.Context, c *engine.Call) (engine.Result, error) { return f(c) }
