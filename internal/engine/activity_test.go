package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// A running run without activity for a minute needs attention until it shows activity. The state
// ends when another engine continues the run.
func TestASilentRunNeedsAttention(t *testing.T) {
	t.Parallel()
	var active chan struct{}
	reg := enginetest.NewRegistry().Handle("long", walk.EffectRead, func(ctx context.Context, c *engine.Call) (engine.Result, error) {
		for {
			select {
			case <-active:
				c.Log("info", "still here")
			case <-ctx.Done():
				return engine.Result{}, ctx.Err()
			}
		}
	})
	reg.Handle("chatty", walk.EffectRead, func(ctx context.Context, c *engine.Call) (engine.Result, error) {
		for i := range int64(20) {
			time.Sleep(30 * time.Second)
			c.Progress(i, 20, "")
		}
		return engine.Result{Output: "done"}, nil
	})
	inBubble(t, reg, func(t *testing.T, e *enginetest.Engine, reopen func() *enginetest.Engine) {
		active = make(chan struct{}) // created inside this bubble
		run := e.Run(`{nodes: {a: {type: long}}}`, "")
		chatty := e.Run(`{nodes: {a: {type: chatty}}}`, "")
		e.Until(run.ID, domain.RunRunning, "")
		attention := func(want bool) {
			t.Helper()
			time.Sleep(20 * time.Second) // until the check has run
			if r, err := e.Store.Run(t.Context(), run.ID); err != nil || r.Attention != want || r.Status != domain.RunRunning {
				t.Errorf("%s, attention %t, want %t; %v", r.Status, r.Attention, want, err)
			}
		}
		time.Sleep(30 * time.Second)
		attention(false)
		time.Sleep(30 * time.Second)
		attention(true)
		if r, err := e.Store.Run(t.Context(), run.ID); err != nil ||
			r.Headline[:len("a has not responded since")] != "a has not responded since" {
			t.Errorf("%q %v", r.Headline, err)
		}
		active <- struct{}{}
		attention(false)
		time.Sleep(65 * time.Second)
		attention(true)
		e = reopen()
		e.Until(run.ID, domain.RunRunning, "")
		attention(false)
		if r, err := e.Store.Run(t.Context(), chatty.ID); err != nil || r.Attention {
			t.Errorf("a run that makes progress: %t %v", r.Attention, err)
		}
		if _, err := e.Do(run.ID, domain.ActionCancel); err != nil {
			t.Error(err)
		}
		c, err := e.Store.RunCounts(t.Context())
		if err != nil || c.Silent != 0 || c.NeedsAttention != 0 {
			t.Errorf("%+v %v", c, err)
		}
	})
}

// A step with three failed attempts needs attention while it waits for its retry.
func TestAStubbornRetryNeedsAttention(t *testing.T) {
	t.Parallel()
	reg := enginetest.NewRegistry().Handle("down", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
		return engine.Result{}, errors.New("down")
	})
	inBubble(t, reg, func(t *testing.T, e *enginetest.Engine, _ func() *enginetest.Engine) {
		run := e.Run(`{nodes: {a: {type: down, retry: {max_attempts: 5, backoff: [1m, 1m, 1m, 1m]}}}}`, "")
		for attempt := 1; attempt <= 4; attempt++ {
			r := e.Until(run.ID, domain.RunWaiting, domain.WaitRetry)
			if r.Attention != (attempt >= domain.StubbornAttempts) {
				t.Errorf("after %d attempts: attention %t", attempt, r.Attention)
			}
			time.Sleep(80 * time.Second)
		}
	})
}

// A person can start a scheduled run early, also after a restart.
func TestStartNow(t *testing.T) {
	t.Parallel()
	inBubble(t, enginetest.NewRegistry(), func(t *testing.T, e *enginetest.Engine, reopen func() *enginetest.Engine) {
		v := e.Save(`{nodes: {a: {type: set, input: 2}}}`)
		later := func() string {
			r, err := e.Start(t.Context(), enginetest.Operator, domain.StartRequest{Hash: v.Hash, StartAt: time.Now().Add(time.Hour)})
			if err != nil {
				t.Fatal(err)
			}
			return r.ID
		}
		first, second := later(), later()
		e = reopen()
		if _, err := e.Do(first, domain.ActionStartNow); err != nil {
			t.Fatal(err)
		}
		if r := e.Settle(first); string(r.Output) != "2" {
			t.Errorf("%s %s", r.Status, r.Output)
		}
		if _, err := e.Do(first, domain.ActionStartNow); domain.CodeOf(err) != domain.CodeConflict {
			t.Errorf("a run that is over: %v", err)
		}
		if r, err := e.Store.Run(t.Context(), second); err != nil || r.Status != domain.RunQueued {
			t.Errorf("the other is %s, %v", r.Status, err)
		}
		time.Sleep(61 * time.Minute)
		if r := e.Settle(second); string(r.Output) != "2" {
			t.Errorf("%s %s", r.Status, r.Output)
		}
	})
}
