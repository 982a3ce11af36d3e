package driver_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/temporal/internal/drivertest"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// registry has a handler that returns its input, one that fails twice, one that always fails, and a payment.
func registry() *enginetest.Registry {
	r := enginetest.NewRegistry()
	r.Handle("echo", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
		return engine.Result{Output: c.Input}, nil
	})
	r.Handle("unstable", walk.EffectRead, func(_ context.Context, c *engine.Call) (engine.Result, error) {
		if c.Attempt < 3 {
			return engine.Result{}, errors.New("not yet")
		}
		return engine.Result{Output: c.Attempt}, nil
	})
	r.Handle("broken", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
		return engine.Result{}, errors.New("it is broken")
	})
	r.Handle("pay", walk.EffectUnsafe, func(_ context.Context, c *engine.Call) (engine.Result, error) {
		return engine.Result{Output: c.IdempotencyKey}, nil
	})
	return r
}

func want(t *testing.T, w *drivertest.World, r domain.Run, status domain.RunStatus, output string) {
	t.Helper()
	if r.Status != status || string(r.Output) != output {
		t.Fatalf("got %s %s (%v), want %s %s\n%s", r.Status, r.Output, r.Error, status, output, w.Reports.Text(r.ID))
	}
	if stored := w.Reports.Runs()[r.ID]; stored.Status != status || string(stored.Output) != output || stored.LastSeq != r.LastSeq {
		t.Fatalf("reported %s %s at %d, want %s %s at %d", stored.Status, stored.Output, stored.LastSeq, status, output, r.LastSeq)
	}
}

func TestPlansRunAsWorkflows(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		src, input string
		status     domain.RunStatus
		output     string
	}{
		"a sequence with a condition": {
			`{"nodes": {"a": {"type": "set", "input": {"n": "${input.n}"}}, "b": {"type": "echo", "input": "large"},
				"c": {"type": "echo", "input": "small"}},
			"edges": [{"from": "a", "to": "b", "condition": "last.n==7"}, {"from": "a", "to": "c"}], "start": "a"}`,
			`{"n": 7}`, domain.RunCompleted, `"large"`,
		},
		"a retry": {
			`{"nodes": {"a": {"type": "unstable", "retry": {"max_attempts": 3, "backoff": ["1h"]}}}}`, ``, domain.RunCompleted, `3`,
		},
		"a failure": {`{"nodes": {"a": {"type": "broken"}}}`, ``, domain.RunFailed, ``},
		"parallel steps": {
			`{"nodes": {"a": {"type": "echo", "input": 1}, "b": {"type": "echo", "input": 2},
			"c": {"type": "set", "needs": ["a", "b"], "input": ["${output.a}", "${output.b}"]}}}`, ``, domain.RunCompleted, `[1,2]`,
		},
		"a foreach": {
			`{"nodes": {"a": {"type": "echo", "foreach": "${input.list}", "input": "${item}", "max_parallel": 2}}}`,
			`{"list": [3, 1, 2]}`, domain.RunCompleted, `[3,1,2]`,
		},
		"a timer": {
			`{"nodes": {"a": {"type": "set", "input": 5}, "b": {"type": "wait", "input": {"for": "48h"}}},
				"edges": [{"from": "a", "to": "b"}], "start": "a"}`,
			``, domain.RunCompleted, `5`,
		},
		"a step that the plan declares non-idempotent": {
			`{"nodes": {"a": {"type": "set", "input": 1, "effect": "unsafe"}}}`, ``, domain.RunCompleted, `1`,
		},
		"a timeout of the run": {
			`{"timeout": "1h", "nodes": {"a": {"type": "wait", "input": {"for": "48h"}}}}`, ``, domain.RunFailed, ``,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := drivertest.New(t, registry())
			want(t, w, w.Run(tt.src, tt.input), tt.status, tt.output)
		})
	}
}

// A timer of two days takes two days on the clock of the workflow, and a run that fails names its step.
func TestWaitsUseTheClockOfTheWorkflow(t *testing.T) {
	t.Parallel()
	w := drivertest.New(t, registry())
	run := w.Run(`{"nodes": {"a": {"type": "wait", "input": {"for": "48h"}}, "b": {"type": "broken"}},
		"edges": [{"from": "a", "to": "b"}], "start": "a"}`, "")
	want(t, w, run, domain.RunFailed, "")
	if took := run.EndedAt.Sub(run.StartedAt); took < 48*time.Hour || took > 49*time.Hour {
		t.Errorf("the run took %s", took)
	}
	if run.Error == nil || run.Error.Node != "b" || !strings.Contains(run.Error.Message, "it is broken") {
		t.Errorf("error %+v", run.Error)
	}
}

const approval = `{"nodes": {"ask": {"type": "approval", "input": {"message": "Pay?"}}, "pay": {"type": "pay"}},
	"edges": [{"from": "ask", "to": "pay"}], "start": "ask"}`

// An approval is an update: a wrong digest is refused, and the answer settles the step.
func TestApprovalsAreUpdates(t *testing.T) {
	t.Parallel()
	w := drivertest.New(t, registry())
	var refused *error
	w.At(time.Hour, func() {
		list := w.Approvals()
		if len(list) != 1 || list[0].Message != "Pay?" {
			t.Errorf("open requests: %+v", list)
			return
		}
		refused = w.Update(wire.DecideUpdate, wire.Decision{Actor: drivertest.Operator, Approval: list[0].ID,
			Request: domain.DecideRequest{Approve: true, Digest: "other"}})
		w.At(time.Hour, func() {
			w.Update(wire.DecideUpdate, wire.Decision{Actor: drivertest.Operator, Approval: list[0].ID,
				Request: domain.DecideRequest{Approve: true, Digest: list[0].Digest, Comment: "fine"}})
		})
	})
	run := w.Run(approval, "")
	if run.Status != domain.RunCompleted {
		t.Fatalf("%s\n%s", run.Status, w.Reports.Text(run.ID))
	}
	if refused == nil || *refused == nil || !strings.Contains((*refused).Error(), "changed since you opened it") {
		t.Errorf("a stale answer: %v", refused)
	}
	if key := engine.IdempotencyKey([]byte("key"), run.ID, "pay", 1, -1); string(run.Output) != `"`+key+`"` {
		t.Errorf("idempotency key %s, want %s", run.Output, key)
	}
}

// A run is paused, continues, and is cancelled.
func TestActionsAreUpdates(t *testing.T) {
	t.Parallel()
	w := drivertest.New(t, registry())
	act := func(a domain.Action) *error {
		return w.Update(wire.ActUpdate, wire.Action{Actor: drivertest.Operator, Request: domain.ActionRequest{Run: w.ID, Action: a}})
	}
	var again *error
	var paused domain.Run
	w.At(time.Hour, func() { act(domain.ActionPause) })
	w.At(2*time.Hour, func() { paused = w.Current(); again = act(domain.ActionPause) })
	w.At(5*time.Hour, func() { act(domain.ActionResume) })
	w.At(6*time.Hour, func() { act(domain.ActionCancel) })
	run := w.Run(`{"nodes": {"a": {"type": "wait", "input": {"for": "48h"}}}}`, "")
	want(t, w, run, domain.RunCancelled, "")
	if !paused.Paused || paused.WaitReason != domain.WaitPaused {
		t.Errorf("after the pause, the run is %s %s", paused.Status, paused.WaitReason)
	}
	if again == nil || *again == nil {
		t.Errorf("a second pause is not refused")
	}
}

// A sub-plan is a child workflow with a record of its own.
func TestSubPlansAreChildWorkflows(t *testing.T) {
	t.Parallel()
	w := drivertest.New(t, registry())
	w.Save(`{"id": "part", "nodes": {"a": {"type": "echo", "input": {"got": "${input}"}}}}`)
	run := w.Run(`{"nodes": {"sub": {"type": "plan", "plan": "part", "input": {"n": 1}},
		"after": {"type": "set", "input": "${output.sub.got.n}"}},
		"edges": [{"from": "sub", "to": "after"}], "start": "sub"}`, "")
	want(t, w, run, domain.RunCompleted, "1")
	if n := len(w.Reports.Runs()); n != 2 {
		t.Errorf("%d runs were reported", n)
	}
	for id, r := range w.Reports.Runs() {
		if id != run.ID && (r.PlanKey != "part" || r.Parent == nil || r.Parent.Run != run.ID || r.Status != domain.RunCompleted) {
			t.Errorf("the child run is %s of %s: %s", id, r.PlanKey, r.Status)
		}
	}
}

// A child run of a cancelled run is cancelled, and blocks are child runs, too.
func TestACancelReachesTheChildRun(t *testing.T) {
	t.Parallel()
	w := drivertest.New(t, registry())
	w.At(time.Hour, func() {
		w.Update(wire.ActUpdate, wire.Action{Actor: drivertest.Operator, Request: domain.ActionRequest{Action: domain.ActionCancel}})
	})
	run := w.Run(`{"nodes": {"sub": {"do": {"nodes": {"wait": {"type": "wait", "input": {"for": "48h"}}}}}}}`, "")
	want(t, w, run, domain.RunCancelled, "")
	for id, r := range w.Reports.Runs() {
		if r.Status != domain.RunCancelled {
			t.Errorf("run %s is %s", id, r.Status)
		}
	}
	if n := len(w.Reports.Runs()); n != 2 {
		t.Errorf("%d runs were reported", n)
	}
}

// A run stops at its limit of steps and continues when an operator raises it.
func TestLimitsHold(t *testing.T) {
	t.Parallel()
	w := drivertest.New(t, registry())
	w.Limits = domain.Limits{MaxSteps: 2}
	var waiting domain.Run
	w.At(time.Hour, func() {
		waiting = w.Current()
		w.Update(wire.ActUpdate, wire.Action{Actor: drivertest.Operator,
			Request: domain.ActionRequest{Run: w.ID, Action: domain.ActionLimits, Limits: domain.Limits{MaxSteps: 10}}})
	})
	run := w.Run(`{"nodes": {"a": {"type": "echo", "input": 1}, "b": {"type": "echo", "input": 2}, "c": {"type": "echo", "input": 3}},
		"edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}], "start": "a"}`, "")
	want(t, w, run, domain.RunCompleted, "3")
	if waiting.WaitReason != domain.WaitBudget || w.Registry.Count("c") != 1 {
		t.Errorf("at the limit, the run was %s %s", waiting.Status, waiting.WaitReason)
	}
}

// The effect of a lost worker depends on the class: a payment goes in doubt and waits for a person, and another step
// runs again.
func TestALostWorker(t *testing.T) {
	t.Parallel()
	for typ, doubt := range map[string]bool{"pay": true, "echo": false} {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			w := drivertest.New(t, registry())
			lost := false
			w.OnAttempt(func(wire.Attempt) error {
				if lost {
					return nil
				}
				lost = true
				return errors.New("heartbeat timeout")
			})
			var waiting domain.Run
			var refused *error
			defer func() {
				if refused != nil && *refused != nil {
					t.Error(*refused)
				}
			}()
			w.At(time.Hour, func() {
				if waiting = w.Current(); waiting.WaitReason == domain.WaitInDoubt {
					refused = w.Update(wire.ResolveUpdate, wire.Resolution{Actor: drivertest.Operator, Node: "a",
						Request: domain.ResolveRequest{Visit: 1, Item: -1, Action: runstate.ActionHappened, Output: domain.RawJSON(`"paid"`)}})
				}
			})
			run := w.Run(`{"nodes": {"a": {"type": "`+typ+`", "input": "sent", "retry": {"max_attempts": 3}},
				"b": {"type": "wait", "input": {"for": "2h"}}},
				"edges": [{"from": "a", "to": "b"}], "start": "a"}`, "")
			output, calls := `"sent"`, 1
			if doubt {
				output, calls = `"paid"`, 0
			}
			want(t, w, run, domain.RunCompleted, output)
			if got := waiting.WaitReason == domain.WaitInDoubt; got != doubt || w.Registry.Count("a") != calls || run.Crashes != 1 {
				t.Errorf("in doubt: %v, calls %d, crashes %d\n%s", got, w.Registry.Count("a"), run.Crashes, w.Reports.Text(run.ID))
			}
		})
	}
}

// A report that is stored, but not acknowledged, is repeated and changes nothing.
func TestReportsAreIdempotent(t *testing.T) {
	t.Parallel()
	w := drivertest.New(t, registry())
	failed := 0
	w.Reports.After = func(wire.Report) error {
		if failed++; failed%2 == 1 {
			return errors.New("kairosd was stopped before it answered")
		}
		return nil
	}
	run := w.Run(`{"nodes": {"a": {"type": "echo", "input": 1}, "b": {"type": "echo", "input": 2}},
		"edges": [{"from": "a", "to": "b"}], "start": "a"}`, "")
	want(t, w, run, domain.RunCompleted, "2")
	if failed < 2 || int64(len(w.Reports.Journal(run.ID))) != run.LastSeq {
		t.Errorf("%d reports, %d rows, want %d", failed, len(w.Reports.Journal(run.ID)), run.LastSeq)
	}
}
