package driver_test

import (
	"context"
	"strings"
	"testing"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/tail"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/temporal/internal/drivertest"
)

// The heartbeats of an active step contain its output, without secrets and within limits. The step continues when a heartbeat has
// shown what it wrote.
func TestHeartbeatsShowTheOutputOfAStep(t *testing.T) {
	t.Parallel()
	shown := make(chan struct{})
	r := registry()
	r.Handle("chatty", walk.EffectIdempotent, func(ctx context.Context, c *engine.Call) (engine.Result, error) {
		for range 1000 {
			c.Log("debug", strings.Repeat("x", 200))
		}
		c.Stream("Hel")
		c.Stream("lo, s3cret")
		c.Log("info", "the key is s3cret")
		c.Progress(2, 3, "s3cret")
		select {
		case <-shown:
		case <-ctx.Done():
		}
		return engine.Result{}, nil
	})
	w := drivertest.New(t, r)
	w.Secrets = vault{}
	var got tail.Tail
	w.Env.SetOnActivityHeartbeatListener(func(info *activity.Info, details converter.EncodedValues) {
		var now tail.Tail
		if !details.HasValues() || got.Log.Progress != nil {
			return
		}
		if err := details.Get(&now); err != nil {
			t.Error(err)
		}
		if now.Log.Progress != nil { // the last output
			got = now
			close(shown)
		}
	})
	run := w.Run(`{"nodes": {"a": {"type": "chatty"}}}`, "")
	want(t, w, run, domain.RunCompleted, "null")
	lines := got.Log.Lines
	size := 0
	for _, l := range lines {
		size += len(l.Message)
	}
	if size == 0 || size > tail.MaxLog || got.Skipped == 0 || got.Log.Progress == nil {
		t.Fatalf("%d bytes in %d lines after %d, progress %+v", size, len(lines), got.Skipped, got.Log.Progress)
	}
	if got.Node != "a" || got.Run != run.ID || got.Attempt != 1 || got.Text != "Hello, •••" ||
		got.Log.Progress.Message != "•••" || got.Log.Progress.Done != 2 {
		t.Errorf("%+v", got)
	}
}
