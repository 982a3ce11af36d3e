package engine_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// Each failure has the attempts and the waits of the rule for its code, also across a restart. The
// code of the last attempt determines what follows it.
func TestRulesByCodeAreKeptOverRestarts(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var at []time.Time
	reg := enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
		mu.Lock()
		at = append(at, time.Now())
		mu.Unlock()
		return engine.Result{}, &walk.Failure{Code: []string{"busy", "busy", "slow"}[c.Attempt-1], Message: "not now", NoEffect: true}
	})
	inBubble(t, reg, func(t *testing.T, e *enginetest.Engine, reopen func() *enginetest.Engine) {
		run := e.Run(`{nodes: {
			a: {type: call, on_error: [{code: busy, retry: {max_attempts: 5, backoff: [10s, 1h]}}, {code: [slow, gone], to: sorry}]},
			sorry: {type: set, input: "${last.code}"}}}`, "")
		e.Until(run.ID, domain.RunWaiting, domain.WaitRetry)
		time.Sleep(3 * time.Second)
		e = reopen()
		time.Sleep(2 * time.Hour)
		r := e.Settle(run.ID)
		result, err := e.Result(context.Background(), run.ID)
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != domain.RunCompleted || string(result.Output) != `"slow"` || len(at) != 3 {
			t.Fatalf("got %s %s after %d attempts\n%s", r.Status, result.Output, len(at), e.Journal(run.ID))
		}
		if first, second := at[1].Sub(at[0]), at[2].Sub(at[1]); first < 10*time.Second || first > time.Minute || second < time.Hour {
			t.Errorf("waited %s and %s, want 10s and 1h", first, second)
		}
	})
}
