package engine_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// The clock of an active engine is set back by two days, or forward. Setting it back does not
// affect waits. Setting it forward ends waits that are then due. No row is older than the previous
// one (A48).
func TestTheClockChangesDuringRuns(t *testing.T) {
	t.Parallel()
	const plan = `{nodes: {w: {type: wait, input: {for: 1h}}}}`
	synctest.Test(t, func(t *testing.T) {
		var off atomic.Int64
		reg := enginetest.NewRegistry().
			Handle("call", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
				if c.Attempt == 1 {
					return engine.Result{}, errors.New("not yet")
				}
				return engine.Result{Output: "done"}, nil
			})
		reg.Before = func(e *engine.Engine) { e.PutClock(func() time.Duration { return time.Duration(off.Load()) }) }
		e := enginetest.Open(t, reg)
		waits := e.Run(plan, "").ID
		retries := e.Run(`{nodes: {a: {type: call, retry: {max_attempts: 2, backoff: [2h]}}}}`, "").ID
		asks := e.Run(`{nodes: {a: {type: approval, input: {message: "well?", timeout: 3h, on_timeout: approve}}}}`, "").ID
		e.Until(waits, domain.RunWaiting, domain.WaitTimer)
		e.Until(retries, domain.RunWaiting, domain.WaitRetry)
		e.Until(asks, domain.RunWaiting, domain.WaitApproval)
		time.Sleep(30 * time.Minute)
		if d := e.ClockAhead(); d != 0 {
			t.Errorf("the engine is %s ahead of a clock that nobody has touched", d)
		}
		off.Store(int64(-48 * time.Hour))
		late := e.Run(plan, "").ID
		e.Until(late, domain.RunWaiting, domain.WaitTimer)
		began := time.Now()
		for _, x := range []struct {
			run    string
			reason domain.WaitReason
			after  time.Duration
		}{{waits, domain.WaitTimer, 30 * time.Minute}, {late, domain.WaitTimer, time.Hour},
			{retries, domain.WaitRetry, 90 * time.Minute}, {asks, domain.WaitApproval, 150 * time.Minute}} {
			time.Sleep(time.Until(began.Add(x.after - time.Minute)))
			e.Until(x.run, domain.RunWaiting, x.reason)
			time.Sleep(15 * time.Minute) // a retry is delayed by up to a tenth
			if r := e.Settle(x.run); r.Status != domain.RunCompleted || r.EndedAt.After(time.Now()) {
				t.Errorf(
					"%s after the clock was put back, the run that waited for %s is %s since %s",
					x.after,
					x.reason,
					r.Status,
					r.EndedAt,
				)
			}
		}
		if d := e.ClockAhead(); d != 48*time.Hour {
			t.Errorf("the engine is %s ahead of the clock", d)
		}
		forwards := e.Run(plan, "").ID
		e.Until(forwards, domain.RunWaiting, domain.WaitTimer)
		off.Store(int64(2 * time.Hour))
		jumped := time.Now()
		if r := e.Settle(forwards); r.Status != domain.RunCompleted || time.Since(jumped) > 2*time.Second || e.ClockAhead() != 0 {
			t.Errorf("%s after the clock was put forwards the run is %s, the engine %s ahead", time.Since(jumped), r.Status, e.ClockAhead())
		}
		for _, run := range []string{waits, late, retries, asks, forwards} {
			rows, err := e.Store.Journal(context.Background(), run, 0)
			if err != nil {
				t.Fatal(err)
			}
			for i := range rows[1:] {
				if rows[i+1].At.Before(rows[i].At) {
					t.Errorf("row %d is of %s, the one before it of %s", i+2, rows[i+1].At, rows[i].At)
				}
			}
		}
	})
}
