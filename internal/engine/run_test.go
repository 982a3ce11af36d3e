package engine_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

func fails(f *walk.Failure) engine.HandlerFunc {
	return func(context.Context, *engine.Call) (engine.Result, error) { return engine.Result{}, f }
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	var flaps atomic.Int32
	reg := enginetest.NewRegistry().
		Handle("echo", walk.EffectIdempotent, echo).
		Handle("pure", walk.EffectPure, echo).
		Handle("broken", walk.EffectIdempotent, fails(&walk.Failure{Code: "boom", Message: "it broke"})).
		Handle("permanent", walk.EffectIdempotent, fails(&walk.Failure{Code: "policy", Message: "not allowed", Permanent: true})).
		Handle("unsafe", walk.EffectUnsafe, fails(&walk.Failure{Code: "reset", Message: "connection reset"})).
		Handle("refused", walk.EffectUnsafe, fails(&walk.Failure{Code: "refused", Message: "connection refused", NoEffect: true})).
		Handle("panics", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) { panic("oh") }).
		Handle("channel", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
			return engine.Result{Output: make(chan int)}, nil
		}).
		Handle("flap", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
			if flaps.Add(1) < 3 {
				return engine.Result{}, errors.New("not yet")
			}
			return engine.Result{Output: c.Attempt}, nil
		}).
		Handle("slow", walk.EffectIdempotent, func(ctx context.Context, _ *engine.Call) (engine.Result, error) {
			<-ctx.Done()
			return engine.Result{}, ctx.Err()
		})
	e := enginetest.Open(t, reg)
	tests := []struct {
		name, plan string
		status     domain.RunStatus
		reason     domain.WaitReason
		output     string
		code       string
		headline   string
	}{
		{name: "a pure handler", plan: `{nodes: {a: {type: pure, input: 7}}}`, status: "completed", output: `7`},
		{name: "a failure", plan: `{nodes: {a: {type: broken}}}`, status: "failed", code: "boom", headline: "a failed: it broke"},
		{
			name:     "retries run out",
			plan:     `{nodes: {a: {type: broken, retry: {max_attempts: 3, backoff: [1ms]}}}}`,
			status:   "failed",
			code:     "boom",
			headline: "a failed after 3 of 3 attempts: it broke",
		},
		{
			name:     "a permanent failure is not retried",
			plan:     `{nodes: {p: {type: permanent, retry: {max_attempts: 3, backoff: [1ms]}}}}`,
			status:   "failed",
			code:     "policy",
			headline: "p failed after 1 of 3 attempts: not allowed",
		},
		{
			name:   "retry until it works",
			plan:   `{nodes: {a: {type: flap, retry: {max_attempts: 5, backoff: [1ms, 2ms]}}}}`,
			status: "completed",
			output: `3`,
		},
		{
			name:     "a timeout",
			plan:     `{nodes: {a: {type: slow, timeout: 20ms}}}`,
			status:   "failed",
			code:     "timeout",
			headline: "a failed: timed out after 20ms",
		},
		{name: "a panic", plan: `{nodes: {a: {type: panics}}}`, status: "failed", code: "panic"},
		{name: "an output that is not JSON", plan: `{nodes: {a: {type: channel}}}`, status: "failed", code: "output_not_json"},
		{
			name:   "an unsafe failure is in doubt",
			plan:   `{nodes: {a: {type: unsafe, retry: {max_attempts: 3}}}}`,
			status: "waiting",
			reason: "in_doubt",
		},
		{name: "a proven unsafe failure is not", plan: `{nodes: {a: {type: refused}}}`, status: "failed", code: "refused"},
		{
			name:   "an error edge",
			plan:   `{nodes: {a: {type: broken}, b: {type: set, input: "${last.error}"}}, edges: [{from: a, to: b, condition: failed}]}`,
			status: "completed",
			output: `"it broke"`,
		},
		{
			name:   "an unresolved reference",
			plan:   `{nodes: {a: {type: set, input: "${input.missing}"}}}`,
			status: "failed",
			code:   "unresolved_reference",
		},
		{
			name:   "foreach",
			plan:   `{nodes: {a: {type: echo, foreach: "${input.list}", input: "${item}-${index}", max_parallel: 2}}}`,
			status: "completed",
			output: `["x-0","y-1","z-2"]`,
		},
		{name: "foreach over pure set", plan: `{nodes: {a: {type: set, foreach: "${input.list}", input: "${item}"}}}`, status: "completed",
			output: `["x","y","z"]`},
		{name: "foreach over nothing", plan: `{nodes: {a: {type: echo, foreach: "${input.none}"}}}`, status: "completed", output: `[]`},
		{name: "foreach fails", plan: `{nodes: {a: {type: broken, foreach: "${input.list}"}}}`, status: "failed", code: "boom"},
		{name: "foreach goes on", plan: `{nodes: {a: {type: broken, foreach: "${input.list}", on_error: continue}}}`, status: "completed",
			output: `[{"code":"boom","error":"it broke"},{"code":"boom","error":"it broke"},{"code":"boom","error":"it broke"}]`},
		{name: "a reference into a continued failure", plan: `{nodes: {a: {type: broken, on_error: continue},
			b: {type: set, input: ["${output.a}", "${output.a.x}", "${output.a.x ?? 1}"]}}, edges: [{from: a, to: b}]}`,
			status: "completed", output: `[null,null,1]`, headline: "1 step failed"},
		{
			name:   "a bounded loop",
			plan:   `{start: a, nodes: {a: {type: pure, max_visits: 3, input: x}}, edges: [{from: a, to: a}]}`,
			status: "failed",
			code:   "max_visits",
		},
		{
			name:   "parallel and join",
			plan:   `{nodes: {a: {type: echo, input: 1}, b: {type: echo, input: 2}, c: {type: set, needs: [a, b]}}}`,
			status: "completed",
			output: `{"a":1,"b":2}`,
		},
		{
			name:   "a join over a failure",
			plan:   `{nodes: {a: {type: broken}, b: {type: set, needs: [a], when: always, input: saw}}}`,
			status: "failed",
			code:   "boom",
		},
		{
			name:   "a join that handles a failure",
			plan:   `{nodes: {a: {type: broken}, b: {type: set, needs: [a], when: failure, input: saw}}}`,
			status: "completed",
			output: `"saw"`,
		},
		{
			name:   "steps",
			plan:   `{nodes: {a: {type: set, input: 1}, b: {type: set}}, edges: [{from: a, to: b}], limits: {max_steps: 1}}`,
			status: "waiting",
			reason: "budget",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := e.Settle(e.Run(tt.plan, `{"list": ["x", "y", "z"], "none": []}`).ID)
			if r.Status != tt.status || r.WaitReason != tt.reason || tt.output != "" && string(r.Output) != tt.output {
				t.Errorf(
					"got %s %s %s, want %s %s %s\n%s",
					r.Status,
					r.WaitReason,
					r.Output,
					tt.status,
					tt.reason,
					tt.output,
					e.Journal(r.ID),
				)
			}
			code := ""
			if r.Error != nil {
				code = r.Error.Code
			}
			if code != tt.code {
				t.Errorf("got error %+v, want code %q", r.Error, tt.code)
			}
			if tt.headline != "" && r.Headline != tt.headline {
				t.Errorf("got headline %q, want %q", r.Headline, tt.headline)
			}
		})
	}
}

// A crash is a store that rejects further checkpoints. Everything that was not durable is lost, and
// another engine continues the run.
func TestCrashByEffect(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		effect walk.Effect
		status domain.RunStatus
		reason domain.WaitReason
		calls  int
	}{
		{walk.EffectRead, "completed", "", 2},
		{walk.EffectIdempotent, "completed", "", 2},
		{walk.EffectUnsafe, "waiting", "in_doubt", 1},
	} {
		t.Run(string(tt.effect), func(t *testing.T) {
			t.Parallel()
			s := storetest.Open(t)
			reg := enginetest.NewRegistry().Handle("work", tt.effect, echo)
			cut := enginetest.NewCut(s, 1) // only the intent
			e := enginetest.OpenWith(t, s, cut, reg, engine.Options{})
			run := e.Run(`{nodes: {a: {type: work, input: 1}}}`, "")
			<-cut.Dead()
			e.Close()
			e = enginetest.OpenOn(t, s, reg, engine.Options{})
			r := e.Settle(run.ID)
			if r.Status != tt.status || r.WaitReason != tt.reason || reg.Count("a") != tt.calls || r.Crashes != 1 {
				t.Errorf(
					"got %s %s after %d calls and %d crashes, want %s %s after %d\n%s",
					r.Status,
					r.WaitReason,
					reg.Count("a"),
					r.Crashes,
					tt.status,
					tt.reason,
					tt.calls,
					e.Journal(r.ID),
				)
			}
		})
	}
}

func TestQuarantine(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	reg := enginetest.NewRegistry().Handle("work", walk.EffectIdempotent, echo)
	plan := `{nodes: {a: {type: work, input: 1}}}`
	e := enginetest.OpenOn(t, s, reg, engine.Options{OwnRunsOnly: true})
	v := e.Save(plan)
	e.Close()
	run := storetest.Run(t, s, v, "")
	for i := range 3 {
		// One checkpoint contains the findings of the start and the next intent.
		cut := enginetest.NewCut(s, 1)
		e := enginetest.OpenWith(t, s, cut, reg, engine.Options{})
		select {
		case <-cut.Dead():
		case <-time.After(time.Minute):
			t.Fatalf("death %d never came\n%s", i+1, e.Journal(run.ID))
		}
		e.Close()
	}
	e = enginetest.OpenOn(t, s, reg, engine.Options{})
	r := e.Settle(run.ID)
	if r.WaitReason != domain.WaitQuarantined {
		t.Fatalf("got %s %s, want quarantined\n%s", r.Status, r.WaitReason, e.Journal(run.ID))
	}
	if _, err := e.Do(run.ID, domain.ActionRelease); err != nil {
		t.Fatal(err)
	}
	if r = e.Until(run.ID, domain.RunCompleted, ""); r.Steps != 1 {
		t.Errorf("got %d steps", r.Steps)
	}
}

func TestResolveDoubt(t *testing.T) {
	t.Parallel()
	var healed atomic.Bool
	reg := enginetest.NewRegistry().Handle("charge", walk.EffectUnsafe, func(ctx context.Context, c *engine.Call) (engine.Result, error) {
		if healed.Load() {
			return engine.Result{Output: "charged"}, nil
		}
		return engine.Result{}, errors.New("connection reset")
	})
	e := enginetest.Open(t, reg)
	v := e.Save(`{nodes: {a: {type: charge}, b: {type: set}}, edges: [{from: a, to: b}]}`)
	for _, tt := range []struct {
		action, output string
		status         domain.RunStatus
		want           string
	}{
		{"happened", `{"id":7}`, "completed", `{"id":7}`},
		{"skip", "", "completed", `null`},
		{"fail", "", "failed", ""},
		{"retry", "", "completed", `"charged"`},
	} {
		t.Run(tt.action, func(t *testing.T) {
			run := e.Settle(e.Begin(v, "").ID)
			if run.WaitReason != domain.WaitInDoubt {
				t.Fatalf("got %s %s, want in doubt", run.Status, run.WaitReason)
			}
			healed.Store(tt.action == "retry")
			defer healed.Store(false)
			req := domain.ResolveRequest{
				Run:     run.ID,
				Node:    "a",
				Visit:   1,
				Item:    -1,
				Attempt: 1,
				Action:  tt.action,
				Reason:  "looked",
				Rev:     run.LastSeq,
			}
			if tt.output != "" {
				req.Output = domain.RawJSON(tt.output)
			}
			if _, err := e.Resolve(t.Context(), enginetest.Operator, req); err != nil {
				t.Fatal(err)
			}
			if _, err := e.Resolve(t.Context(), enginetest.Operator, req); err == nil {
				t.Error("resolving twice worked")
			}
			r := e.Until(run.ID, tt.status, "")
			if string(r.Output) != tt.want {
				t.Errorf("got %s, want %s\n%s", r.Output, tt.want, e.Journal(r.ID))
			}
		})
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 8)
	hang := func(ctx context.Context, _ *engine.Call) (engine.Result, error) {
		started <- struct{}{}
		<-ctx.Done()
		return engine.Result{}, context.Cause(ctx)
	}
	reg := enginetest.NewRegistry().Handle("hang", walk.EffectIdempotent, hang).Handle("danger", walk.EffectUnsafe, hang)
	e := enginetest.Open(t, reg)
	t.Run("a node in flight", func(t *testing.T) {
		run := e.Run(
			`{nodes: {a: {type: hang}, b: {type: approval, input: {message: sure?}}, c: {type: wait, input: {for: 1h}}, d: {type: set, needs: [a, b, c]}}}`,
			"",
		)
		<-started
		r, err := e.Do(run.ID, domain.ActionCancel)
		if err != nil || r.Status != domain.RunCancelled {
			t.Fatalf("got %s, %v, want cancelled\n%s", r.Status, err, e.Journal(run.ID))
		}
		if _, err := e.Do(run.ID, domain.ActionCancel); domain.CodeOf(err) != domain.CodeConflict {
			t.Errorf("cancelling twice: %v, want a conflict", err)
		}
		list, err := e.Store.Approvals(t.Context(), domain.ApprovalFilter{Status: "pending", Run: run.ID})
		if err != nil || len(list.Items) != 0 {
			t.Errorf("open approvals after cancel: %v, %v", list.Items, err)
		}
	})
	t.Run("an unsafe node keeps its doubt", func(t *testing.T) {
		run := e.Run(`{nodes: {a: {type: danger}, b: {type: set}}, edges: [{from: a, to: b}]}`, "")
		<-started
		if r, err := e.Do(run.ID, domain.ActionCancel); err != nil || r.Status != domain.RunCancelled {
			t.Fatalf("got %s, %v", r.Status, err)
		}
		if _, err := e.Do(run.ID, domain.ActionResume); domain.CodeOf(err) != domain.CodeConflict {
			t.Fatalf("resume before the doubt is resolved: %v, want a conflict", err)
		}
		_, err := e.Resolve(
			t.Context(),
			enginetest.Operator,
			domain.ResolveRequest{Run: run.ID, Node: "a", Visit: 1, Item: -1, Action: "happened", Output: domain.RawJSON(`"done"`)},
		)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Do(run.ID, domain.ActionResume); err != nil {
			t.Fatal(err)
		}
		if r := e.Until(run.ID, domain.RunCompleted, ""); string(r.Output) != `"done"` || reg.Count("a") > 2 {
			t.Errorf("got %s\n%s", r.Output, e.Journal(run.ID))
		}
	})
	t.Run("a queued run", func(t *testing.T) {
		run, err := e.Start(
			t.Context(),
			enginetest.Operator,
			domain.StartRequest{Hash: e.Save(`{nodes: {a: {type: set}}}`).Hash, StartAt: time.Now().Add(time.Hour)},
		)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := e.Do(run.ID, domain.ActionCancel); err != nil || r.Status != domain.RunCancelled {
			t.Errorf("got %s, %v", r.Status, err)
		}
	})
}

func TestPauseAndContinue(t *testing.T) {
	t.Parallel()
	gate, started := make(chan struct{}), make(chan struct{}, 1)
	reg := enginetest.NewRegistry().Handle("gate", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
		started <- struct{}{}
		<-gate
		return engine.Result{Output: 1}, nil
	})
	e := enginetest.Open(t, reg)
	run := e.Run(`{nodes: {a: {type: gate}, b: {type: set}}, edges: [{from: a, to: b}]}`, "")
	<-started
	if r, err := e.Do(run.ID, domain.ActionPause); err != nil || !r.Paused || r.Status != domain.RunRunning {
		t.Fatalf("got %s paused %v, %v", r.Status, r.Paused, err)
	}
	close(gate)
	r := e.Until(run.ID, domain.RunWaiting, domain.WaitPaused)
	if r.Steps != 1 {
		t.Errorf("got %d steps while paused, want 1", r.Steps)
	}
	if _, err := e.Do(run.ID, domain.ActionUnpause); err != nil {
		t.Fatal(err)
	}
	if r := e.Until(run.ID, domain.RunCompleted, ""); string(r.Output) != "1" || r.Paused {
		t.Errorf("got %s, paused %v", r.Output, r.Paused)
	}
}
