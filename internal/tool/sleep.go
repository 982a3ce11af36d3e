package tool

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/planner/walk"
)

// maxSleep is the maximum duration. Longer waits belong in a wait node, which holds no slot and
// survives restarts.
const maxSleep = time.Hour

func newSleep() llm.Tool {
	return &function{
		spec: llm.ToolSpec{
			Name:        "sleep",
			Description: "Waits for a short time. For more than an hour, or to survive restarts without starting over, use a wait node.",
			Effect:      walk.EffectRead,
			Schema: object(map[string]any{
				"for": property("string", "how long, as 250ms, 30s or 5m; at most 1h"),
			}, "for"),
		},
		call: sleep,
	}
}

// sleepSign is the interval at which a sleep reports progress, because a call without progress for
// a minute counts as hung.
const sleepSign = 15 * time.Second

func sleep(ctx context.Context, args arguments, call llm.ToolCall) (any, error) {
	d, err := time.ParseDuration(args.text("for"))
	switch {
	case err != nil || d < 0:
		return nil, suggest(invalid("%q is not a duration", args.text("for")), "use a duration, such as 250ms, 30s, or 5m")
	case d > maxSleep:
		return nil, suggest(
			invalid("a sleep of %s is longer than %s", d, maxSleep),
			"use a wait node: it holds no slot and survives restarts",
		)
	}
	timer, sign, began := time.NewTimer(d), time.NewTicker(sleepSign), time.Now()
	defer timer.Stop()
	defer sign.Stop()
	for {
		select {
		case <-timer.C:
			return map[string]any{"slept": d.String()}, nil
		case <-sign.C:
			call.Progress(int64(time.Since(began)/time.Second), int64(d/time.Second), "seconds slept")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
