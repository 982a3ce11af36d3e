package planner

import (
	"time"

	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

func decodeRetry(o *object) *Retry {
	f := o.object("retry", "retry")
	if f == nil {
		return nil
	}
	retry := &Retry{MaxAttempts: max(1, int(f.integer("max_attempts", 1, 1000)))}
	if f.t.Get("max_attempts") == nil && !f.bad {
		f.r.Error(f.t, f.node, "retry.max_attempts", message.New("set the number of attempts, including the first"),
			"retry needs max_attempts")
	}
	if b := f.field("backoff"); b != nil {
		switch b.Kind {
		case source.List:
			for _, e := range b.Items {
				retry.Backoff.List = append(retry.Backoff.List, f.parseDuration(e, "backoff", true))
			}
		case source.String:
			retry.Backoff.List = []time.Duration{f.parseDuration(b, "backoff", true)}
		default:
			g := newObject(b, f.r, "backoff", f.node)
			if b.Kind == source.Map && b.Get("initial") == nil {
				f.r.Error(b, f.node, "retry.backoff", message.New("add initial: with the first wait"), "backoff needs initial")
			}
			retry.Backoff = walk.Backoff{Initial: time.Duration(g.duration("initial")), Factor: g.number("factor", 1),
				Max: time.Duration(g.duration("max")), Jitter: g.number("jitter", 0)}
			if retry.Backoff.Jitter > 1 {
				g.r.Error(b.Get("jitter"), f.node, "field.range", message.Message{}, "jitter must be from 0 to 1")
			}
			g.finish()
		}
	}
	f.finish()
	return retry
}

func checkOnError(o *object, s string) {
	switch walk.OnError(s) {
	case "", walk.OnErrorFail, walk.OnErrorSkip, walk.OnErrorContinue, walk.OnErrorReplan:
	default:
		o.r.Error(o.t.Get("on_error"), o.node, "field.value", message.New("write fail, skip, continue, or replan"), "unknown on_error %s",
			jsonvalue.Quote(s))
	}
}

func checkOnReject(o *object, s string) {
	switch walk.OnReject(s) {
	case "", walk.OnRejectFail, walk.OnRejectContinue:
	default:
		o.r.Error(o.t.Get("on_reject"), o.node, "field.value", message.New("write fail or continue"), "unknown on_reject %s",
			jsonvalue.Quote(s))
	}
}

func checkEnds(o *object, s string) {
	if s != "" && s != endsOK {
		o.r.Error(o.t.Get("ends"), o.node, "field.value", message.New("write %s", "ends: ok"), "unknown ends %s", jsonvalue.Quote(s))
	}
}

func checkEffect(o *object, s string) {
	switch walk.Effect(s) {
	case "", walk.EffectPure, walk.EffectRead, walk.EffectIdempotent, walk.EffectUnsafe:
	default:
		o.r.Error(o.t.Get("effect"), o.node, "field.value", message.New("write pure, read, idempotent, or unsafe"), "unknown effect %s",
			jsonvalue.Quote(s))
	}
}
