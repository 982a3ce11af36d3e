package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner/walk"
)

func TestApproval(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	v := e.Save(`
id: refund
nodes:
  ask:
    type: approval
    input:
      message: "Refund ${input.amount}?"
      form: {type: object, properties: {amount: {type: integer, maximum: 100}}, required: [amount]}
  out: {type: set, input: "${last}"}
edges: [{from: ask, to: out}]`)
	open := func(t *testing.T) (domain.Run, domain.Approval) {
		t.Helper()
		run := e.Settle(e.Begin(v, `{"amount": 12}`).ID)
		list, err := e.Store.Approvals(t.Context(), domain.ApprovalFilter{Run: run.ID})
		if err != nil || len(list.Items) != 1 || run.WaitReason != domain.WaitApproval || run.Headline != "Refund 12?" {
			t.Fatalf("approvals %+v, %v; run %s %s %q", list.Items, err, run.Status, run.WaitReason, run.Headline)
		}
		return run, list.Items[0]
	}
	t.Run("approve", func(t *testing.T) {
		run, a := open(t)
		ctx := t.Context()
		decide := func(values, digest string) error {
			_, err := e.Decide(
				ctx,
				enginetest.Operator,
				domain.DecideRequest{Approval: a.ID, Approve: true, Comment: "ok", Values: domain.RawJSON(values), Digest: digest},
			)
			return err
		}
		if err := decide(`{"amount": 500}`, ""); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("values that do not fit the form: %v", err)
		}
		if err := decide(`{"amount": 5}`, "other"); domain.CodeOf(err) != domain.CodeStale {
			t.Errorf("another digest: %v", err)
		}
		if err := decide(`{"amount": 5}`, a.Digest); err != nil {
			t.Fatal(err)
		}
		if err := decide(`{"amount": 5}`, a.Digest); domain.CodeOf(err) != domain.CodeConflict {
			t.Errorf("deciding twice: %v", err)
		}
		if r := e.Until(run.ID, domain.RunCompleted, ""); string(
			r.Output,
		) != `{"answer":"approve","approved":true,"by":"marta","comment":"ok","values":{"amount":5}}` {
			t.Errorf("got %s", r.Output)
		}
	})
	t.Run("reject", func(t *testing.T) {
		run, a := open(t)
		if _, err := e.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: a.ID, Comment: "no"}); err != nil {
			t.Fatal(err)
		}
		if r := e.Until(run.ID, domain.RunFailed, ""); r.Error == nil || r.Error.Code != "rejected" || r.Error.Node != "ask" ||
			r.Headline != "ask failed: rejected by marta: no" {
			t.Errorf("got %+v %q", r.Error, r.Headline)
		}
	})
	t.Run("nobody answers", func(t *testing.T) {
		for on, want := range map[string]string{
			", on_timeout: approve}": `completed {"answer":"approve","approved":true,"by":"system","comment":"no answer in time","values":null}`,
			"}":                      "failed rejected", ", on_timeout: reject}": "failed rejected",
			", on_timeout: fail}":                      "failed timeout",
			"}, on_reject: continue":                   `completed {"answer":"reject","approved":false,"by":"system","comment":"no answer in time","values":null}`,
			", on_timeout: fail}, on_reject: continue": "failed timeout",
		} {
			r := e.Settle(e.Run(fmt.Sprintf(`{nodes: {a: {type: approval, input: {message: m, timeout: 5ms%s}}}`, on), "").ID)
			for r.WaitReason == domain.WaitApproval {
				r = e.Until(r.ID, domain.RunStatus(strings.Fields(want)[0]), "")
			}
			got := fmt.Sprint(r.Status, " ", string(r.Output))
			if r.Error != nil {
				got = fmt.Sprint(r.Status, " ", r.Error.Code)
			}
			if got != want {
				t.Errorf("%s: got %s, want %s", on, got, want)
			}
		}
	})
}

func TestSubPlans(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	reg := enginetest.NewRegistry().Handle("echo", walk.EffectIdempotent, func(ctx context.Context, c *engine.Call) (engine.Result, error) {
		if broken.Load() {
			return engine.Result{}, errors.New("down")
		}
		return engine.Result{Output: c.Input, Usage: domain.Usage{InputTokens: 3}}, nil
	})
	e := enginetest.Open(t, reg)
	e.Save(`{id: child, nodes: {a: {type: echo, input: {got: "${input}"}}}}`)
	parent := e.Save(`{id: parent, nodes: {p: {type: plan, plan: child, input: 7}, z: {type: set}}, edges: [{from: p, to: z}]}`)
	t.Run("completes", func(t *testing.T) {
		run := e.Begin(parent, "")
		r := e.Until(run.ID, domain.RunCompleted, "")
		if string(r.Output) != `{"got":7}` || r.Usage.InputTokens != 3 {
			t.Errorf("got %s usage %+v\n%s", r.Output, r.Usage, e.Journal(run.ID))
		}
	})
	t.Run("a failed child fails the parent, whose resume continues the same child", func(t *testing.T) {
		broken.Store(true)
		run := e.Begin(parent, "")
		r := e.Until(run.ID, domain.RunFailed, "")
		if r.Error.Code != "child_failed" {
			t.Errorf("got %+v", r.Error)
		}
		broken.Store(false)
		if _, err := e.Do(run.ID, domain.ActionResume); err != nil {
			t.Fatal(err)
		}
		if r = e.Until(run.ID, domain.RunCompleted, ""); string(r.Output) != `{"got":7}` {
			t.Errorf("got %s", r.Output)
		}
		lineage, err := e.Store.Lineage(t.Context(), run.ID)
		if err != nil || len(lineage) != 1 {
			t.Errorf("got %d relatives, %v, want the one child", len(lineage), err)
		}
	})
	t.Run("endless recursion ends (P47)", func(t *testing.T) {
		v := e.Save(`{id: endless, nodes: {p: {type: plan, plan: endless}}}`)
		r := e.Until(e.Begin(v, "").ID, domain.RunFailed, "")
		if !strings.Contains(r.Error.Message, "nested more than 8 deep") {
			t.Errorf("got %+v", r.Error)
		}
	})
	t.Run("cancel reaches the child", func(t *testing.T) {
		e.Save(`{id: sleeper, nodes: {w: {type: wait, input: {for: 1h}}}}`)
		run := e.Run(`{nodes: {p: {type: plan, plan: sleeper}}}`, "")
		e.Until(run.ID, domain.RunWaiting, domain.WaitChild)
		var child domain.Run
		for child.ID == "" {
			list, err := e.Store.Lineage(t.Context(), run.ID)
			if err != nil {
				t.Fatal(err)
			}
			if len(list) > 0 {
				child = list[0]
			}
		}
		e.Until(child.ID, domain.RunWaiting, domain.WaitTimer)
		if _, err := e.Do(run.ID, domain.ActionCancel); err != nil {
			t.Fatal(err)
		}
		e.Until(child.ID, domain.RunCancelled, "")
	})
}

func TestLateResultIsNeverUsed(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	reg := enginetest.NewRegistry().Handle("deaf", walk.EffectIdempotent, func(ctx context.Context, c *engine.Call) (engine.Result, error) {
		if c.Attempt == 1 {
			<-release
			return engine.Result{Output: "late"}, nil
		}
		return engine.Result{Output: "second"}, nil
	})
	e := enginetest.Open(t, reg)
	run := e.Run(
		`{nodes: {a: {type: deaf, timeout: 10ms, retry: {max_attempts: 2}}, b: {type: approval, input: {message: hold}}}, edges: [{from: a, to: b}]}`,
		"",
	)
	e.Until(run.ID, domain.RunWaiting, domain.WaitApproval)
	events, err := e.Subscribe(t.Context(), -1, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	close(release)
	for ev := range events {
		if ev.Type == "node_late_result" {
			break
		}
	}
	d, err := e.Detail(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if res := domain.ResultOf(d); string(res.Outputs["a"]) != `"second"` {
		t.Errorf("got %s, want the second attempt's", res.Outputs["a"])
	}
}

func TestLimitsAreRaised(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	run := e.Settle(
		e.Run(
			`{nodes: {a: {type: set, input: 1}, b: {type: set}, c: {type: set}}, edges: [{from: a, to: b}, {from: b, to: c}], limits: {max_steps: 1}}`,
			"",
		).ID,
	)
	if run.WaitReason != domain.WaitBudget || run.Steps != 1 {
		t.Fatalf("got %s %s after %d steps", run.Status, run.WaitReason, run.Steps)
	}
	for range 2 {
		r, err := e.Act(
			t.Context(),
			enginetest.Operator,
			domain.ActionRequest{Run: run.ID, Action: domain.ActionLimits, Limits: domain.Limits{MaxSteps: run.Limits.MaxSteps + 1}},
		)
		if err != nil {
			t.Fatal(err)
		}
		run = e.Settle(r.ID)
	}
	if run.Status != domain.RunCompleted || run.Steps != 3 {
		t.Errorf("got %s after %d steps", run.Status, run.Steps)
	}
}

// A stopping run cancels its waits. Steps that run because of the stop wait and retry as usual.
func TestStoppingCancelsWaitsButNotCleanup(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	begun := make(chan struct{})
	reg := enginetest.NewRegistry().
		Handle("broken", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
			<-begun
			return engine.Result{}, &walk.Failure{Code: "boom", Message: "it broke"}
		}).
		Handle("again", walk.EffectIdempotent, fails(&walk.Failure{Code: "later", Message: "not yet"})).
		Handle("cleanup", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
			if tries.Add(1) < 3 {
				return engine.Result{}, errors.New("not yet")
			}
			return engine.Result{Output: "clean"}, nil
		})
	e := enginetest.Open(t, reg)
	run := e.Begin(e.Save(`{nodes: {
		bad: {type: broken},
		timer: {type: wait, input: {for: 1h}},
		ask: {type: approval, input: {message: m}},
		retry: {type: again, retry: {max_attempts: 9, backoff: [1h]}},
		pause: {type: wait, needs: [bad], when: always, input: {for: 10ms}},
		clean: {type: cleanup, needs: [pause], when: always, retry: {max_attempts: 5, backoff: [1ms]}}}}`), "")
	for waits := 0; waits < 3; runtime.Gosched() {
		d, err := e.Detail(t.Context(), run.ID)
		if err != nil {
			t.Fatal(err)
		}
		waits = len(d.Waits)
	}
	close(begun)
	r := e.Until(run.ID, domain.RunFailed, "")
	if tries.Load() != 3 || r.Error.Code != "boom" {
		t.Errorf("cleanup ran %d times, error %+v\n%s", tries.Load(), r.Error, e.Journal(r.ID))
	}
	rows, err := e.Store.Journal(t.Context(), run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	cancelled := 0
	for _, row := range rows {
		if row.Final && row.Status == domain.NodeCancelled {
			cancelled++
		}
	}
	if cancelled != 3 {
		t.Errorf("%d waits were cancelled, want 3\n%s", cancelled, e.Journal(r.ID))
	}
}
