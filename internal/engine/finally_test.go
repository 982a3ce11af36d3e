package engine_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// cleaner records the inputs of type clean, and fails type break.
type cleaner struct {
	mu     sync.Mutex
	inputs []string
}

func (c *cleaner) registry() *enginetest.Registry {
	clean := func(_ context.Context, call *engine.Call) (engine.Result, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		text, _ := call.Input.(string)
		c.inputs = append(c.inputs, text)
		return engine.Result{Output: "clean"}, nil
	}
	broken := func(context.Context, *engine.Call) (engine.Result, error) {
		return engine.Result{}, &walk.Failure{Code: "down", Message: "broken", Permanent: true, NoEffect: true}
	}
	return enginetest.NewRegistry().Handle("clean", walk.EffectUnsafe, clean).Handle("break", walk.EffectIdempotent, broken)
}

func (c *cleaner) messageText() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.inputs, ", ")
}

// Finally steps run after a completion, a failure, and a cancellation, also of a run that waits for a
// budget. Their own failures are listed, and change nothing else (P50).
func TestFinallyStepsRunWhateverHappened(t *testing.T) {
	t.Parallel()
	const finally = `, finally: {
		clean: {type: clean, input: "${last.status} ${last.code ?? \"-\"} ${status.b}"},
		poor: {type: break, needs: [clean]},
		after: {type: set, needs: [poor], input: 1}}}`
	for name, tt := range map[string]struct {
		plan, want string
		cancelAt   domain.WaitReason
		status     domain.RunStatus
		headline   string
	}{
		"completed": {plan: `{nodes: {a: {type: set, input: ok}, b: {type: set, needs: [a], input: ok}}`,
			status: domain.RunCompleted, want: "completed - completed", headline: "1 step failed"},
		"failed": {plan: `{nodes: {a: {type: break}, b: {type: set, needs: [a], input: ok}}`,
			status: domain.RunFailed, want: "failed down skipped", headline: "a failed: broken; the finally step poor failed, too"},
		"cancelled": {plan: `{nodes: {a: {type: approval, input: {message: ok?}}, b: {type: set, needs: [a], input: ok}}`,
			cancelAt: domain.WaitApproval, status: domain.RunCancelled, want: "cancelled - skipped",
			headline: "the finally step poor failed"},
		"at a limit": {plan: `{limits: {max_steps: 1}, nodes: {a: {type: set, input: ok}, b: {type: set, needs: [a], input: ok}}`,
			cancelAt: domain.WaitBudget, status: domain.RunCancelled, want: "cancelled - cancelled",
			headline: "the finally step poor failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c cleaner
			e := enginetest.OpenOn(t, storetest.Open(t), c.registry(), engine.Options{})
			run := e.Run(tt.plan+finally, "")
			if tt.cancelAt != "" {
				e.Until(run.ID, domain.RunWaiting, tt.cancelAt)
				if _, err := e.Do(run.ID, domain.ActionCancel); err != nil {
					t.Fatal(err)
				}
			}
			r := e.Until(run.ID, tt.status, "")
			if c.messageText() != tt.want || r.Headline != tt.headline {
				t.Errorf("got %q, headline %q; want %q, %q\n%s", c.messageText(), r.Headline, tt.want, tt.headline, e.Journal(run.ID))
			}
			result, err := e.Result(t.Context(), run.ID)
			if err != nil || len(result.FailedSteps) != 1 || result.FailedSteps[0].Node != "poor" ||
				string(result.Outputs["after"]) != "1" {
				t.Errorf("got failed steps %v, outputs %s, %v", result.FailedSteps, result.Outputs, err)
			}
		})
	}
}

// A run that is cancelled before its start time runs its finally steps at once.
func TestFinallyStepsOfAScheduledRun(t *testing.T) {
	t.Parallel()
	var c cleaner
	e := enginetest.OpenOn(t, storetest.Open(t), c.registry(), engine.Options{})
	v := e.Save(`{nodes: {a: {type: set, input: ok}}, finally: {clean: {type: clean, input: "${last.status}"}}}`)
	run, err := e.Start(t.Context(), enginetest.Operator, domain.StartRequest{Hash: v.Hash, StartAt: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Do(run.ID, domain.ActionCancel); err != nil {
		t.Fatal(err)
	}
	if e.Until(run.ID, domain.RunCancelled, ""); c.messageText() != "cancelled" {
		t.Errorf("got %q\n%s", c.messageText(), e.Journal(run.ID))
	}
}

// A second cancellation ends finally steps. A resume of the run runs them again, when it has ended again
// (P50).
func TestFinallyStepsAreCancelledAndRunAgain(t *testing.T) {
	t.Parallel()
	var c cleaner
	e := enginetest.OpenOn(t, storetest.Open(t), c.registry(), engine.Options{})
	run := e.Run(`{nodes: {a: {type: approval, input: {message: ok?}}},
		finally: {wait: {type: wait, when: last.status!=completed, input: {for: 1h}},
			clean: {type: clean, needs: [wait], when: always, input: "${status.a} ${status.wait}"}}}`, "")
	for _, reason := range []domain.WaitReason{domain.WaitApproval, domain.WaitTimer} {
		e.Until(run.ID, domain.RunWaiting, reason)
		if _, err := e.Do(run.ID, domain.ActionCancel); err != nil {
			t.Fatal(err)
		}
	}
	if e.Until(run.ID, domain.RunCancelled, ""); c.messageText() != "" {
		t.Errorf("got %q after the second cancellation\n%s", c.messageText(), e.Journal(run.ID))
	}
	if _, err := e.Do(run.ID, domain.ActionResume); err != nil {
		t.Fatal(err)
	}
	e.Until(run.ID, domain.RunWaiting, domain.WaitApproval)
	if err := answerOpen(t, e, run.ID); err != nil {
		t.Fatal(err)
	}
	if e.Until(run.ID, domain.RunCompleted, ""); c.messageText() != "completed skipped" {
		t.Errorf("got %q after the resume\n%s", c.messageText(), e.Journal(run.ID))
	}
}

// answerOpen approves every open request of a run.
func answerOpen(t *testing.T, e *enginetest.Engine, run string) error {
	t.Helper()
	list, err := e.Store.Approvals(t.Context(), domain.ApprovalFilter{Run: run, Status: "pending"})
	if err != nil {
		return err
	}
	for _, p := range list.Items {
		if _, err := e.Decide(t.Context(), enginetest.Operator,
			domain.DecideRequest{Approval: p.ID, Approve: true, Digest: p.Digest}); err != nil {
			return err
		}
	}
	return nil
}

// The power fails at every checkpoint of a cancelled run with finally steps. The next engine
// finishes them, and the run stays cancelled.
func TestFinallyStepsSurviveEveryCut(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	var c cleaner
	first := enginetest.OpenOn(t, s, c.registry(), engine.Options{})
	v := first.Save(`{id: cut, nodes: {a: {type: set, input: 1}, ask: {type: approval, needs: [a], input: {message: ok?}},
			other: {type: wait, needs: [a], input: {for: 1h}}},
		finally: {pause: {type: wait, input: {for: 1ms}}, note: {type: set, needs: [pause], input: "${status.ask}"},
			poor: {type: break, when: last.status==cancelled}}}`)
	first.Close()
	for n := 0; ; n++ {
		if n > 40 {
			t.Fatal("the run never ends")
		}
		cut := enginetest.NewCut(s, n)
		e := enginetest.OpenWith(t, s, cut, c.registry(), engine.Options{})
		run := e.Begin(v, "")
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() {
			defer close(over)
			if _, err := e.WaitFor(ctx, run.ID, func(r domain.Run) bool { return r.WaitReason == domain.WaitApproval }); err == nil {
				_, _ = e.Do(run.ID, domain.ActionCancel)
				_, _ = e.WaitFor(ctx, run.ID, func(r domain.Run) bool { return r.Status.Final() })
			}
		}()
		died := true
		select {
		case <-cut.Dead():
		case <-over:
			select {
			case <-cut.Dead():
			default:
				died = false
			}
		}
		cancel()
		<-over
		e.Close()
		e = enginetest.OpenOn(t, s, c.registry(), engine.Options{})
		r := e.Settle(run.ID)
		if !r.Status.Final() && r.WaitReason == domain.WaitApproval {
			if _, err := e.Do(run.ID, domain.ActionCancel); err != nil {
				t.Fatal(err)
			}
		}
		e.Until(run.ID, domain.RunCancelled, "")
		result, err := e.Result(t.Context(), run.ID)
		if err != nil || string(result.Outputs["note"]) != `"cancelled"` || len(result.FailedSteps) != 1 {
			t.Fatalf("cut after %d checkpoints: got %s, %v, %v\n%s", n, result.Outputs, result.FailedSteps, err, e.Journal(run.ID))
		}
		e.Close()
		if !died {
			return
		}
	}
}

// Each end of a run calls its finally steps with another idempotency key, so that a server with
// deduplication executes them again.
func TestAFinallyStepThatRunsAgainHasItsOwnKey(t *testing.T) {
	t.Parallel()
	var c cleaner
	reg := c.registry()
	e := enginetest.OpenOn(t, storetest.Open(t), reg, engine.Options{})
	run := e.Run(`{nodes: {a: {type: break}}, finally: {clean: {type: clean, input: "${last.status}"}}}`, "")
	e.Until(run.ID, domain.RunFailed, "")
	if _, err := e.Do(run.ID, domain.ActionResume); err != nil {
		t.Fatal(err)
	}
	ended := func(r domain.Run) bool { return r.Status.Final() && c.messageText() == "failed, failed" }
	if _, err := e.WaitFor(t.Context(), run.ID, ended); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, call := range reg.Calls() {
		if call.Node == "clean" {
			keys = append(keys, call.Key)
		}
	}
	if len(keys) != 2 || keys[0] == keys[1] {
		t.Errorf("the calls had the keys %q, want two that differ", keys)
	}
}
