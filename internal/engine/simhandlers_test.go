package engine_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// registry contains the scripted types. All except the pure type end when the world permits it.
func (w *world) registry() *enginetest.Registry {
	r := enginetest.NewRegistry()
	for typ, effect := range scripted {
		if effect == walk.EffectPure {
			r.Handle(typ, effect, func(_ context.Context, c *engine.Call) (engine.Result, error) { return scriptedResult(c, typ) })
			continue
		}
		class := effect
		if w.mistake == mistakeTwice && effect == walk.EffectUnsafe {
			class = walk.EffectIdempotent
		}
		r.Handle(typ, class, func(ctx context.Context, c *engine.Call) (engine.Result, error) {
			return w.handle(ctx, c, typ, effect, 0, 0)
		})
	}
	r.Add(agentType, walk.EffectUnsafe, simAgent{w})
	return r
}

// agentType is the type of steps whose side effects are all substeps.
const agentType = "clerk"

// simAgent calls a model, makes the non-idempotent call that the model requests, and calls the
// model again.
type simAgent struct{ w *world }

// Numbers of the substeps of a simAgent, and the maximum usage of a model call.
const (
	unsafeCall  = 2
	simInput    = 10
	simOutput   = 90
	simCalls    = 3
	simPerToken = 2 // price per token
)

func (simAgent) Stepped() bool { return true }

func (a simAgent) Handle(ctx context.Context, c *engine.Call) (engine.Result, error) {
	for n := 1; n <= simCalls; n++ {
		kind, effect, most := "model", walk.EffectIdempotent, int64(simOutput)
		if n == unsafeCall {
			kind, effect, most = "tool:charge", walk.EffectUnsafe, 0
		} else if a.w.mistake != mistakeSpend {
			c.Expect(n, engine.ExpectedUsage{Input: simInput, Output: simOutput, InputPrice: simPerToken, OutputPrice: simPerToken,
				OnLimit: func(output int64) { most = output }})
		}
		digest := ""
		if a.w.mistake == mistakeRepeat && c.Attempt > 1 {
			digest = "again"
		}
		a.w.wants(c, true)
		_, err := c.Substep(n, kind, digest, effect, func() (any, domain.Usage, error) {
			a.w.wants(c, false)
			reserved := int64(0)
			if n != unsafeCall {
				reserved = simInput + most
			}
			r, err := a.w.handle(ctx, c, agentType, effect, n, reserved)
			return r.Output, used(c, n, most, err), err
		})
		a.w.wants(c, false)
		if err != nil {
			return engine.Result{}, err
		}
	}
	return scriptedResult(c, agentType)
}

// used returns the reported usage of a simAgent's call: at most the reserved amount, and sometimes
// nothing.
func used(c *engine.Call, n int, most int64, err error) domain.Usage {
	tokens := simInput + most/int64(1+(len(c.Node.ID)+c.Visit+c.Item+n)%3)
	switch {
	case n == unsafeCall || walk.AsFailure(err) != nil && walk.AsFailure(err).Code == codeWeather:
		return domain.Usage{}
	case err != nil || tokens%5 == 0:
		return domain.Usage{InputTokens: simInput, Estimated: true}
	}
	return domain.Usage{InputTokens: simInput, OutputTokens: tokens - simInput, Cost: float64(tokens * simPerToken)}
}

// wants records whether an attempt is about to begin a call.
func (w *world) wants(c *engine.Call, on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if on {
		w.pendingCalls[c] = true
	} else {
		delete(w.pendingCalls, c)
	}
}

func scriptedResult(c *engine.Call, typ string) (engine.Result, error) {
	out, f := script(c.Node.ID, typ, c.Input)
	if f != nil {
		return engine.Result{}, f
	}
	return engine.Result{Output: out}, nil
}

// handle simulates another system: it records the call and waits until the world ends it.
func (w *world) handle(
	ctx context.Context,
	c *engine.Call,
	typ string,
	effect walk.Effect,
	substep int,
	tokens int64,
) (engine.Result, error) {
	p := &parked{call: c, typ: typ, substep: substep, tokens: tokens, end: make(chan ending, 1)}
	of := p.of()
	w.mu.Lock()
	done, dispatched := w.history(of)
	w.facts = append(w.facts, fact{w.vfs.Count(), factCalled, of})
	w.parked = append(w.parked, p)
	if done {
		w.wrong = append(w.wrong, fmt.Sprintf("%s is run again though its completion was acknowledged", w.where(p)))
	}
	if effect == walk.EffectUnsafe && dispatched {
		w.wrong = append(w.wrong, fmt.Sprintf("%s is unsafe and is run again without a person", w.where(p)))
	}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.parked = slices.DeleteFunc(w.parked, func(other *parked) bool { return other == p })
	}()
	select {
	case e := <-p.end:
		if !e.fails {
			return scriptedResult(c, typ)
		}
		w.mu.Lock()
		w.errors[of]++
		w.facts = append(w.facts, fact{w.vfs.Count(), factSpared, of})
		w.mu.Unlock()
		return engine.Result{}, &walk.Failure{Code: codeWeather, Message: "the weather", NoEffect: true, Permanent: e.forGood}
	case <-ctx.Done():
		w.mu.Lock()
		w.ending++
		w.parked = slices.DeleteFunc(w.parked, func(other *parked) bool { return other == p })
		w.mu.Unlock()
		defer func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.ending--
		}()
		h := fnv.New32a()
		fmt.Fprint(h, of.node, of.visit, of.item)
		time.Sleep(time.Duration(1+h.Sum32()%997) * time.Microsecond) // calls that end at the same time end in a fixed order
		return engine.Result{}, context.Cause(ctx)
	}
}

const codeWeather = "weather"

func (p *parked) of() visitOf {
	return visitOf{p.call.RunID, p.call.Node.ID, p.call.Visit, p.call.Item, p.substep}
}

// mayFail reports whether an error would be retried, so that the course of the run does not change.
func (w *world) mayFail(p *parked) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.errors[p.of()] < p.call.Node.MaxAttempts-1
}

// history reports whether a visit has completed, and whether it was called and may have had its
// effect, since a person last permitted another call. An agent whose step failed starts again, but
// never after a completed non-idempotent call. No resume permits that.
func (w *world) history(of visitOf) (completed, dispatched bool) {
	paid := false // a non-idempotent call of the visit has completed
	for _, f := range w.facts {
		same := f.of.visit == 0 || f.of.visit == of.visit && (f.of.item == of.item || f.kind == factForgotten)
		if f.of.run != of.run || f.of.node != of.node || !same {
			continue
		}
		if f.kind == factForgotten {
			completed, dispatched, paid = false, false, false
			continue
		}
		paid = paid || f.kind == factCompleted && f.of.substep == unsafeCall
		if startsOver := f.kind == factSpared || f.kind == factPermitted; startsOver && of.substep > 0 {
			completed = completed && paid
			dispatched = dispatched && f.kind != factPermitted && f.of.substep != of.substep
			continue
		}
		if f.of.substep != 0 && f.of.substep != of.substep { // facts about a step also apply to its calls
			continue
		}
		switch f.kind {
		case factCalled:
			dispatched = true
		case factCompleted:
			completed = true
		case factSpared:
			dispatched = false
		case factPermitted:
			completed, dispatched = false, false
		}
	}
	return completed, dispatched
}

// permit records that a person permits a visit to run again. It is recorded before the database
// contains it, because the power may fail in between.
func (w *world) permit(of visitOf) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.facts = append(w.facts, fact{w.vfs.Count(), factPermitted, of})
}
