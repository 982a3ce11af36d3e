package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// debate is a conversation of model calls. Each call is answered once and is followed by a tool
// call without side effects.
type debate struct {
	turns         int
	input, answer int64 // expected and actual usage of a call, at most
	unpriced      string
	unreported    bool

	mu    sync.Mutex
	calls map[int]int // number of calls per turn
	tools int
	caps  []int64
	hold  chan struct{} // if set, model calls wait until it is closed
}

func (*debate) Stepped() bool { return true }

func (d *debate) Handle(_ context.Context, c *engine.Call) (engine.Result, error) {
	n := 0
	for turn := range d.turns {
		n++
		capped := d.answer
		c.Expect(
			n,
			engine.ExpectedUsage{
				Input:       d.input,
				Output:      d.answer,
				InputPrice:  1,
				OutputPrice: 1,
				Unpriced:    d.unpriced,
				OnLimit:     func(output int64) { capped = output },
			},
		)
		_, err := c.Substep(n, "model", fmt.Sprint(turn), walk.EffectIdempotent, func() (any, domain.Usage, error) {
			d.mu.Lock()
			d.calls[turn]++
			d.caps = append(d.caps, capped)
			d.mu.Unlock()
			if d.hold != nil {
				<-d.hold
			}
			if d.unreported {
				return "said", domain.Usage{InputTokens: 1, Estimated: true}, nil
			}
			return "said", domain.Usage{InputTokens: d.input, OutputTokens: d.answer, Cost: float64(d.input + d.answer)}, nil
		})
		if err != nil {
			return engine.Result{}, fmt.Errorf("model: %w", err)
		}
		if turn == d.turns-1 {
			break
		}
		n++
		if _, err := c.Substep(n, "tool:look", fmt.Sprint(turn), walk.EffectRead, func() (any, domain.Usage, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.tools++
			return "seen", domain.Usage{}, nil
		}); err != nil {
			return engine.Result{}, fmt.Errorf("tool: %w", err)
		}
	}
	return engine.Result{Output: "agreed"}, nil
}

func (d *debate) total() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, calls := range d.calls {
		n += calls
	}
	return n
}

func newDebate(turns int, input, answer int64) (*debate, *enginetest.Registry) {
	d := &debate{turns: turns, input: input, answer: answer, calls: map[int]int{}}
	reg := enginetest.NewRegistry()
	reg.Add("debate", walk.EffectIdempotent, d)
	return d, reg
}

func limits(e *enginetest.Engine, run string, set, raise domain.Limits) (domain.Run, error) {
	return e.Act(
		context.Background(),
		enginetest.Operator,
		domain.ActionRequest{Run: run, Action: domain.ActionLimits, Limits: set, Raise: raise},
	)
}

// A server can use more than was reserved once. The excess is recorded, nothing further starts, and
// after the limit is raised, the conversation continues without repeating a paid call.
func TestAConversationStopsAtItsTokens(t *testing.T) {
	t.Parallel()
	d, reg := newDebate(5, 10, 1990)
	s := storetest.Open(t)
	e := enginetest.OpenOn(t, s, reg, engine.Options{})
	run := e.Run(`{limits: {max_tokens: 1500}, nodes: {a: {type: debate, retry: {max_attempts: 3, backoff: [1ms]}}}}`, "").ID
	r := e.Until(run, domain.RunWaiting, domain.WaitBudget)
	if d.total() != 1 || r.Usage.InputTokens+r.Usage.OutputTokens != 2000 || d.tools != 0 || d.caps[0] != 1490 {
		t.Fatalf("%d model calls with the caps %v, %d tool calls, usage %+v\n%s", d.total(), d.caps, d.tools, r.Usage, e.Journal(run))
	}
	rows, err := e.Store.Journal(t.Context(), run, 0)
	if err != nil {
		t.Fatal(err)
	}
	overrun := ""
	for _, row := range rows {
		if row.Kind == domain.EntrySubstep {
			overrun = row.Reason
		}
	}
	if !strings.Contains(overrun, "2000") || !strings.Contains(overrun, "1500") {
		t.Errorf("the overrun is not on record: %q", overrun)
	}
	began := time.Now().Add(-time.Minute)
	for range 2 { // the wait survives a restart unchanged
		det, err := e.Detail(t.Context(), run)
		if err != nil || len(det.Waits) != 1 || det.Waits[0].Reason != domain.WaitBudget || det.Waits[0].Since.Before(began) ||
			!strings.Contains(det.Waits[0].Message, "max_tokens 1500") {
			t.Fatalf("waits %+v, %v", det.Waits, err)
		}
		e.Close()
		e = enginetest.OpenOn(t, s, reg, engine.Options{})
	}
	if _, err := e.Do(run, domain.ActionResume); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("a resume: %v", err)
	}
	_, err = limits(e, run, domain.Limits{MaxTokens: 1000}, domain.Limits{})
	if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "1000") || !strings.Contains(err.Error(), "2000") {
		t.Errorf("a limit below what was used: %v", err)
	}
	if _, err := limits(e, run, domain.Limits{}, domain.Limits{MaxCost: 1}); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("a raise of a limit that is not set: %v", err)
	}
	if r, err = limits(e, run, domain.Limits{}, domain.Limits{MaxTokens: 2500}); err != nil || r.Limits.MaxTokens != 4000 {
		t.Fatalf("%+v %v", r.Limits, err)
	}
	if r = e.Until(run, domain.RunWaiting, domain.WaitBudget); d.total() != 2 {
		t.Fatalf("%d calls with 4000 tokens\n%s", d.total(), e.Journal(run))
	}
	if _, err = limits(e, run, domain.Limits{MaxTokens: 100_000}, domain.Limits{}); err != nil {
		t.Fatal(err)
	}
	r = e.Until(run, domain.RunCompleted, "")
	if d.total() != 5 || d.tools != 4 || r.Usage.InputTokens+r.Usage.OutputTokens != 10_000 {
		t.Errorf("%d model calls, %d tool calls, usage %+v\n%s", d.total(), d.tools, r.Usage, e.Journal(run))
	}
}

// Used and reserved amounts never exceed the limit, although items run in parallel and no server
// reports its usage.
func TestParallelItemsShareOneLimit(t *testing.T) {
	t.Parallel()
	for name, plan := range map[string]string{
		"items": `{limits: {max_tokens: 3000}, nodes: {a: {type: debate, foreach: "${input.list}", max_parallel: 8, input: "${item}"}}}`,
		"steps": `{limits: {max_tokens: 3000}, nodes: {s: {type: set, input: 1}, a: {type: debate, needs: [s]}, b: {type: debate, needs: [s]}, c: {type: debate, needs: [s]}, d: {type: debate, needs: [s]}, e: {type: debate, needs: [s]}}}`,
		"cost":  `{limits: {max_cost: 3000}, nodes: {s: {type: set, input: 1}, a: {type: debate, needs: [s]}, b: {type: debate, needs: [s]}, c: {type: debate, needs: [s]}, d: {type: debate, needs: [s]}, e: {type: debate, needs: [s]}}}`,
	} {
		for _, unreported := range []bool{false, true} {
			t.Run(fmt.Sprint(name, unreported), func(t *testing.T) {
				t.Parallel()
				d, reg := newDebate(1, 500, 500)
				d.unreported = unreported
				inBubble(t, reg, func(t *testing.T, e *enginetest.Engine, _ func() *enginetest.Engine) {
					d.hold = make(chan struct{})
					run := e.Run(plan, `{"list": [1,2,3,4,5]}`).ID
					synctest.Wait() // all steps have asked for their call
					close(d.hold)
					r := e.Until(run, domain.RunWaiting, domain.WaitBudget)
					if used := r.Usage.InputTokens + r.Usage.OutputTokens; used != 3000 || d.total() != 3 || r.Usage.Cost != 3000 {
						t.Fatalf("%d calls used %+v\n%s", d.total(), r.Usage, e.Journal(run))
					}
					if _, err := limits(e, run, domain.Limits{}, domain.Limits{MaxTokens: 2000 * min(r.Limits.MaxTokens, 1),
						MaxCost: 2000 * min(r.Limits.MaxCost, 1)}); err != nil {
						t.Fatal(err)
					}
					if r = e.Until(run, domain.RunCompleted, ""); d.total() != 5 || r.Usage.Cost != 5000 {
						t.Errorf("%d calls used %+v", d.total(), r.Usage)
					}
				})
			})
		}
	}
}

// If a price is missing, a cost limit stops the run before its first call, and names the setting.
// After the price is set, a resume continues.
func TestACostWithoutAPriceStopsFirst(t *testing.T) {
	t.Parallel()
	d, reg := newDebate(2, 10, 10)
	d.unpriced = "providers.fake.prices.m"
	e := enginetest.Open(t, reg)
	run := e.Run(`{limits: {max_cost: 5000}, nodes: {a: {type: debate}}}`, "").ID
	if r := e.Until(run, domain.RunWaiting, domain.WaitBudget); d.total() != 0 || !strings.Contains(r.Headline, "providers.fake.prices.m") {
		t.Fatalf("%d calls: %s", d.total(), r.Headline)
	}
	if _, err := e.Do(run, domain.ActionResume); err != nil {
		t.Fatal(err)
	}
	e.Until(run, domain.RunWaiting, domain.WaitBudget)
	d.mu.Lock()
	d.unpriced = ""
	d.mu.Unlock()
	if _, err := e.Do(run, domain.ActionResume); err != nil {
		t.Fatal(err)
	}
	if r := e.Until(run, domain.RunCompleted, ""); r.Usage.Cost != 40 {
		t.Errorf("%+v", r.Usage)
	}
}

// A single invalid input is not sent.
func TestAnInvalidInputIsNotSent(t *testing.T) {
	t.Parallel()
	d, reg := newDebate(1, 500, 10)
	e := enginetest.Open(t, reg)
	run := e.Run(`{limits: {max_tokens: 500}, nodes: {a: {type: debate}}}`, "").ID
	if r := e.Until(run, domain.RunWaiting, domain.WaitBudget); d.total() != 0 || !strings.Contains(r.Headline, "500") {
		t.Errorf("%d calls: %s", d.total(), r.Headline)
	}
}

// At max_duration, repeatable calls are cancelled, a non-idempotent call finishes, and nothing
// further starts.
func TestMaxDurationReachesIntoSteps(t *testing.T) {
	t.Parallel()
	var ended, begun atomic.Int32
	sleep := func(ctx context.Context, _ *engine.Call) (engine.Result, error) {
		begun.Add(1)
		select {
		case <-time.After(3 * time.Minute):
			ended.Add(1)
			return engine.Result{Output: "rested"}, nil
		case <-ctx.Done():
			return engine.Result{}, context.Cause(ctx)
		}
	}
	reg := enginetest.NewRegistry().Handle("nap", walk.EffectRead, sleep).Handle("pay", walk.EffectUnsafe, sleep)
	reg.Add("agent2", walk.EffectUnsafe, paying{sleep})
	inBubble(t, reg, func(t *testing.T, e *enginetest.Engine, _ func() *enginetest.Engine) {
		for _, c := range []struct {
			typ   string
			ended int32
			want  time.Duration
		}{{"nap", 0, time.Minute}, {"pay", 1, 3 * time.Minute}, {"agent2", 1, 3 * time.Minute}} {
			ended.Store(0)
			begun.Store(0)
			run := e.Run(`{limits: {max_duration: 1m}, nodes: {a: {type: `+c.typ+`}, b: {type: nap}}, edges: [{from: a, to: b}]}`, "").ID
			time.Sleep(time.Hour)
			r := e.Settle(run)
			if r.WaitReason != domain.WaitBudget || ended.Load() != c.ended || r.RunningTime.Truncate(time.Second) != c.want {
				t.Errorf("%s: %s %s after %s, %d ended\n%s", c.typ, r.Status, r.WaitReason, r.RunningTime, ended.Load(), e.Journal(run))
			}
			if _, err := limits(e, run, domain.Limits{MaxDuration: time.Second}, domain.Limits{}); domain.CodeOf(
				err,
			) != domain.CodeInvalid {
				t.Errorf("%s: a limit below what was used: %v", c.typ, err)
			}
			if _, err := limits(e, run, domain.Limits{}, domain.Limits{MaxDuration: time.Hour}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
			if r = e.Settle(run); r.Status != domain.RunCompleted || ended.Load() != 2 {
				t.Errorf("%s: %s %s, %d ended", c.typ, r.Status, r.Headline, ended.Load())
			}
		}
	})
}

// paying makes one non-idempotent call, and then an idempotent one.
type paying struct{ sleep engine.HandlerFunc }

func (paying) Stepped() bool { return true }

func (p paying) Handle(ctx context.Context, c *engine.Call) (engine.Result, error) {
	if _, err := c.Substep(1, "tool:pay", "p", walk.EffectUnsafe, func() (any, domain.Usage, error) {
		r, err := p.sleep(ctx, c)
		return r.Output, domain.Usage{}, err
	}); err != nil {
		return engine.Result{}, err
	}
	_, err := c.Substep(2, "tool:look", "l", walk.EffectRead, func() (any, domain.Usage, error) { return "seen", domain.Usage{}, nil })
	return engine.Result{Output: "paid"}, err
}

// The power fails after each checkpoint in turn. No limit is exceeded, and no recorded call is made
// or paid again.
func TestBudgetsSurviveEveryCut(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	for n := 0; ; n++ {
		if !budgetCut(t, s, n) {
			return
		}
		if n > 40 {
			t.Fatal("the run never ends")
		}
	}
}

func budgetCut(t *testing.T, s *store.Store, n int) bool {
	t.Helper()
	d, reg := newDebate(4, 100, 100)
	const plan = `{limits: {max_tokens: 450}, nodes: {a: {type: debate}}}`
	first := enginetest.OpenOn(t, s, reg, engine.Options{})
	v := first.Save(plan)
	first.Close()
	cut := enginetest.NewCut(s, n)
	e := enginetest.OpenWith(t, s, cut, reg, engine.Options{})
	run := e.Begin(v, "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	over := make(chan struct{})
	go func() {
		defer close(over)
		if _, err := e.WaitFor(ctx, run.ID, func(r domain.Run) bool { return r.WaitReason == domain.WaitBudget }); err == nil {
			_, _ = limits(e, run.ID, domain.Limits{MaxTokens: 10_000}, domain.Limits{})
			_, _ = e.WaitFor(ctx, run.ID, func(r domain.Run) bool { return r.Status.Final() })
		}
	}()
	died := true
	select {
	case <-cut.Dead():
	case <-over:
		died = false
	}
	cancel()
	e.Close()
	<-over
	e = enginetest.OpenOn(t, s, reg, engine.Options{})
	defer e.Close()
	r, err := e.WaitFor(t.Context(), run.ID, func(r domain.Run) bool { return r.Status.Final() || r.WaitReason == domain.WaitBudget })
	if err != nil {
		t.Fatal(err)
	}
	if used := r.Usage.InputTokens + r.Usage.OutputTokens; !r.Status.Final() && (used > r.Limits.MaxTokens || r.Limits.MaxTokens != 450) {
		t.Errorf("cut after %d: %d used of %d", n, used, r.Limits.MaxTokens)
	}
	if !r.Status.Final() {
		if _, err := limits(e, run.ID, domain.Limits{MaxTokens: 10_000}, domain.Limits{}); err != nil {
			t.Fatal(err)
		}
	}
	r = e.Until(run.ID, domain.RunCompleted, "")
	repeated := d.total() - 4
	if repeated < 0 || repeated > 1 || r.Usage.InputTokens+r.Usage.OutputTokens != 800 || r.Crashes > 1 {
		t.Errorf("cut after %d: %v calls, usage %+v\n%s", n, d.calls, r.Usage, e.Journal(run.ID))
	}
	return died
}

// A preview shows the same state of attempts in flight that a restart then sets.
func TestAPreviewAnnouncesTheDoubtOfACrash(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	began := make(chan struct{})
	reg := enginetest.NewRegistry().Handle("pay", walk.EffectUnsafe, func(ctx context.Context, _ *engine.Call) (engine.Result, error) {
		close(began)
		<-ctx.Done()
		return engine.Result{}, errors.New("cut off")
	})
	e := enginetest.OpenOn(t, s, reg, engine.Options{OwnRunsOnly: true})
	v := e.Save(`{nodes: {pay: {type: pay}, next: {type: set, needs: [pay], input: 1}}}`)
	cut := enginetest.NewCut(s, 1<<20)
	e.Close()
	e = enginetest.OpenWith(t, s, cut, reg, engine.Options{OwnRunsOnly: true})
	run := e.Begin(v, "").ID
	<-began
	cut.Kill()
	e.Close()
	e = enginetest.OpenOn(t, s, reg, engine.Options{OwnRunsOnly: true})
	pre, err := e.Preview(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run, Action: domain.ActionResume})
	if err != nil {
		t.Fatal(err)
	}
	if !pre.Allowed || len(pre.InDoubt) != 1 || pre.InDoubt[0].Node != "pay" || len(pre.Again) != 0 || len(pre.Effects) != 0 {
		t.Errorf("in doubt %+v, again %+v, effects %+v, %s", pre.InDoubt, pre.Again, pre.Effects, pre.Refusal)
	}
	if _, err := e.Act(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run, Action: domain.ActionResume,
		Digest: pre.Digest}); err != nil {
		t.Fatal(err)
	}
	if r := e.Until(run, domain.RunWaiting, domain.WaitInDoubt); r.Status != domain.RunWaiting {
		t.Errorf("%s", r.Status)
	}
}
