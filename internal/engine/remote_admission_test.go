package engine_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// isLaunched reports whether a run was launched.
func (w *elsewhere) isLaunched(run domain.Run) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(w.launched, run.ID)
}

// oneAtATime returns a plan with a concurrency rule.
func oneAtATime(onConflict string) string {
	return `
concurrency: {key: "till-${input}", limit: 1, on_conflict: ` + onConflict + `}
nodes: {a: {type: approval, input: {message: m}}, b: {type: work, needs: [a]}}`
}

// answer answers the only request of a run.
func answer(t *testing.T, e *enginetest.Engine, run domain.Run) {
	t.Helper()
	e.Until(run.ID, domain.RunWaiting, domain.WaitApproval)
	p := requests(t, e.Store, run.ID)[0]
	yes := domain.DecideRequest{Approval: p.ID, Approve: true, Digest: p.Digest}
	if _, err := e.Decide(t.Context(), enginetest.Operator, yes); err != nil {
		t.Fatal(err)
	}
}

// A run that is executed elsewhere is launched when its concurrency key is free, also after a restart. Until then, it can be
// paused and cancelled.
func TestRunsElsewhereWaitForTheirKey(t *testing.T) {
	t.Parallel()
	e, w := openElsewhere(t, enginetest.NewRegistry().Handle("work", walk.EffectIdempotent, echo))
	v := e.Save(oneAtATime("queue"))
	first := e.Begin(v, "1")
	e.Until(first.ID, domain.RunWaiting, domain.WaitApproval)
	second, third, fourth := e.Begin(v, "1"), e.Begin(v, "1"), e.Begin(v, "1")
	e.Until(e.Begin(v, "2").ID, domain.RunWaiting, domain.WaitApproval) // has another key
	if got, err := e.Do(second.ID, domain.ActionCancel); err != nil || got.Status != domain.RunCancelled {
		t.Fatalf("cancel: %s %v", got.Status, err)
	}
	if got, err := e.Do(third.ID, domain.ActionPause); err != nil || !got.Paused {
		t.Fatalf("pause: %+v %v", got, err)
	}
	e = w.restart(func() {})
	answer(t, e, first)
	e.Until(first.ID, domain.RunCompleted, "")
	e.Until(fourth.ID, domain.RunWaiting, domain.WaitApproval) // the third one is paused
	if w.isLaunched(second) || w.isLaunched(third) {
		t.Error("a cancelled or a paused run was launched")
	}
	if _, err := e.Do(third.ID, domain.ActionUnpause); err != nil {
		t.Fatal(err)
	}
	if w.isLaunched(third) {
		t.Error("the key is not free")
	}
	answer(t, e, fourth)
	e.Until(third.ID, domain.RunWaiting, domain.WaitApproval)
}

// The other rules about a conflict behave as for runs that the engine executes.
func TestConflictsOfRunsElsewhere(t *testing.T) {
	t.Parallel()
	e, w := openElsewhere(t, enginetest.NewRegistry().Handle("work", walk.EffectIdempotent, echo))
	skip := e.Save(oneAtATime("skip"))
	first := e.Begin(skip, "1")
	e.Until(first.ID, domain.RunWaiting, domain.WaitApproval)
	_, err := e.Start(t.Context(), enginetest.Operator, domain.StartRequest{Hash: skip.Hash, Input: domain.RawJSON("1")})
	if domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("skip: %v", err)
	}
	oldest := e.Save(oneAtATime("cancel_oldest"))
	second := e.Begin(oldest, "1")
	e.Until(first.ID, domain.RunCancelled, "")
	e.Until(second.ID, domain.RunWaiting, domain.WaitApproval)
	if !w.isLaunched(second) {
		t.Error("the new run was not launched")
	}
}

// A failed run that is resumed waits until its key is free. A run with a start time waits for it.
func TestAResumedRunElsewhereWaitsForItsKey(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	broken.Store(true)
	r := enginetest.NewRegistry().Handle("work", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
		if broken.Load() {
			return engine.Result{}, errors.New("broken")
		}
		return engine.Result{Output: "done"}, nil
	})
	e, w := openElsewhere(t, r)
	v := e.Save(oneAtATime("queue"))
	first := e.Begin(v, "1")
	answer(t, e, first)
	e.Until(first.ID, domain.RunFailed, "")
	broken.Store(false)
	second := e.Begin(v, "1")
	e.Until(second.ID, domain.RunWaiting, domain.WaitApproval)
	if got, err := e.Do(first.ID, domain.ActionResume); err != nil || got.Status != domain.RunQueued {
		t.Fatalf("resume: %s %v", got.Status, err)
	}
	answer(t, e, second)
	e.Until(second.ID, domain.RunCompleted, "")
	if end := e.Until(first.ID, domain.RunCompleted, ""); string(end.Output) != `"done"` {
		t.Errorf("output %s", end.Output)
	}
	later, err := e.Start(t.Context(), enginetest.Operator, domain.StartRequest{Hash: v.Hash, Input: domain.RawJSON("1"),
		StartAt: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	other := e.Begin(v, "1")
	e.Until(other.ID, domain.RunWaiting, domain.WaitApproval)
	if w.isLaunched(later) {
		t.Error("it was launched before its time")
	}
}
