package engine_test

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// gate stops a run's goroutine when it completes a checkpoint, so that messages collect and are
// handled together.
type gate struct {
	armed, panics  atomic.Bool
	entered, leave chan struct{}
}

func newGate(r *enginetest.Registry) *gate {
	d := &gate{entered: make(chan struct{}), leave: make(chan struct{})}
	r.Before = func(e *engine.Engine) {
		e.OnFlush(func(string, int64, string) {
			switch {
			case d.armed.CompareAndSwap(true, false):
				d.entered <- struct{}{}
				<-d.leave
			case d.panics.CompareAndSwap(true, false):
				panic("a defect")
			}
		})
	}
	return d
}

// close stops the goroutine of a run with an active step at the checkpoint of new limits.
func (d *gate) close(t *testing.T, e *enginetest.Engine, run string) <-chan error {
	t.Helper()
	d.armed.Store(true)
	answer := act(e, run, domain.ActionLimits)
	<-d.entered
	return answer
}

// act performs an action and returns the channel of its answer.
func act(e *enginetest.Engine, run string, action domain.Action) <-chan error {
	answer := make(chan error, 1)
	go func() {
		req := domain.ActionRequest{Run: run, Action: action, Reason: "test"}
		if action == domain.ActionLimits {
			req.Limits = domain.Limits{MaxSteps: 100}
		}
		_, err := e.Act(context.Background(), enginetest.Operator, req)
		answer <- err
	}()
	return answer
}

// until polls for a condition that sends no event.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("still not so: %s", what)
		}
	}
}

func answered(t *testing.T, what string, answer <-chan error) error {
	t.Helper()
	select {
	case err := <-answer:
		return err
	case <-time.After(time.Minute):
		t.Fatalf("%s: no answer", what)
		return nil
	}
}

// An action that arrives together with the result of the last step is refused with the final status
// of the run.
func TestAnActionDuringTheLastResultIsRefused(t *testing.T) {
	t.Parallel()
	for _, action := range []domain.Action{domain.ActionPause, domain.ActionCancel, domain.ActionLimits} {
		t.Run(string(action), func(t *testing.T) {
			t.Parallel()
			started, release := make(chan struct{}, 1), make(chan struct{})
			reg := enginetest.NewRegistry().
				Handle("call", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
					started <- struct{}{}
					<-release
					return engine.Result{Output: 1}, nil
				})
			d := newGate(reg)
			e := enginetest.Open(t, reg)
			run := e.Run(`{nodes: {a: {type: call}}}`, "")
			<-started
			first := d.close(t, e, run.ID)
			close(release)
			until(t, "the result has arrived", func() bool { return e.Mail(run.ID) == 1 })
			second := act(e, run.ID, action)
			until(t, "the action has arrived", func() bool { return e.Mail(run.ID) == 2 })
			close(d.leave)
			if err := answered(t, "limits", first); err != nil {
				t.Error(err)
			}
			if err := answered(t, string(action), second); domain.CodeOf(err) != domain.CodeConflict ||
				!strings.Contains(err.Error(), "the run is completed") {
				t.Errorf("the answer is %v; want a conflict that names the status", err)
			}
			r, err := e.Store.Run(t.Context(), run.ID)
			if err != nil || r.Status != domain.RunCompleted || r.Paused {
				t.Errorf("the run is %s, paused %v, %v", r.Status, r.Paused, err)
			}
			if rows, err := e.Store.Journal(t.Context(), run.ID, 0); err != nil || !rows[len(rows)-1].Final {
				t.Errorf("rows follow the last result, %v:\n%s", err, e.Journal(run.ID))
			}
		})
	}
}

// A run that is paused while its last step runs ends with that step, and is then not paused.
func TestAPauseEndsWithTheRun(t *testing.T) {
	t.Parallel()
	started, release := make(chan struct{}, 1), make(chan struct{})
	reg := enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
		started <- struct{}{}
		<-release
		return engine.Result{Output: 1}, nil
	})
	e := enginetest.Open(t, reg)
	run := e.Run(`{nodes: {a: {type: call}}}`, "")
	<-started
	if r, err := e.Do(run.ID, domain.ActionPause); err != nil || !r.Paused {
		t.Fatalf("paused %v, %v", r.Paused, err)
	}
	close(release)
	if r := e.Until(run.ID, domain.RunCompleted, ""); r.Paused {
		t.Error("a completed run is paused")
	}
}

// A resume that arrives before the end of its run is durable reopens the failed steps, because it
// uses the state of the run's goroutine.
func TestAResumeBeforeTheEndIsDurable(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	s := storetest.Open(t)
	held := enginetest.NewHeld(s)
	reg := enginetest.NewRegistry().Handle("flap", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
		if calls.Add(1) == 1 {
			held.HoldBack()
			return engine.Result{}, &walk.Failure{Code: "down", Message: "it is down"}
		}
		return engine.Result{Output: "up"}, nil
	})
	e := enginetest.OpenWith(t, s, held, reg, engine.Options{})
	run := e.Run(`{nodes: {a: {type: flap}, b: {type: set}}, edges: [{from: a, to: b}]}`, "")
	<-held.Arrived // the run has failed, but that is not durable
	resume := act(e, run.ID, domain.ActionResume)
	<-held.Arrived // the resume
	held.Release()
	if err := answered(t, "resume", resume); err != nil {
		t.Fatal(err)
	}
	r := e.Until(run.ID, domain.RunCompleted, "")
	if string(r.Output) != `"up"` || calls.Load() != 2 {
		t.Errorf("after %d calls the output is %s\n%s", calls.Load(), r.Output, e.Journal(run.ID))
	}
	rows, err := s.Journal(t.Context(), run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if row.Kind == domain.EntryReset && string(row.Decision) != `{"reopened":[{"node":"a","visit":1}]}` {
			t.Errorf("what it opened again is recorded as %s", row.Decision)
		}
	}
}

// A refusal only relies on durable facts.
func TestARefusalRestsOnDurableFacts(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	held := enginetest.NewHeld(s)
	reg := enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
		held.HoldBack()
		return engine.Result{Output: 1}, nil
	})
	e := enginetest.OpenWith(t, s, held, reg, engine.Options{})
	run := e.Run(`{nodes: {a: {type: call}}}`, "")
	<-held.Arrived // the run has completed, but that is not durable
	cancel := act(e, run.ID, domain.ActionCancel)
	until(t, "the cancel was handled", func() bool { return e.Deferred(run.ID) })
	select {
	case err := <-cancel:
		t.Errorf("answered before the end was durable: %v", err)
	default:
	}
	held.Release()
	if err := answered(t, "cancel", cancel); domain.CodeOf(err) != domain.CodeConflict ||
		!strings.Contains(err.Error(), "nothing to cancel; the run is completed") {
		t.Errorf("the answer is %v", err)
	}
}

// A panic in the handling of one message loses no other message. Every waiting request gets an
// answer, and the slots are released. A later result neither restarts the run nor counts as a crash.
func TestADefectEndsEveryWaitingRequest(t *testing.T) {
	t.Parallel()
	started, release := make(chan struct{}, 1), make(chan struct{})
	reg := enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
		started <- struct{}{}
		<-release
		return engine.Result{Output: 1}, nil
	})
	d := newGate(reg)
	e := enginetest.OpenOn(t, storetest.Open(t), reg, engine.Options{MaxRunning: 1, MaxNodes: 1})
	run := e.Run(`{nodes: {a: {type: call}}}`, "")
	<-started
	answers := []<-chan error{d.close(t, e, run.ID)}
	for n := 1; n <= 3; n++ {
		answers = append(answers, act(e, run.ID, domain.ActionLimits))
		until(t, "the request has arrived", func() bool { return e.Mail(run.ID) == n })
	}
	d.panics.Store(true)
	close(d.leave)
	for i, answer := range answers {
		if err := answered(t, "limits", answer); i > 0 && domain.CodeOf(err) != domain.CodeInternal {
			t.Errorf("request %d: %v", i, err)
		}
	}
	until(t, "the slots are free", func() bool { l := e.Load(); return l.Working == 0 && l.Nodes == 0 })
	close(release)
	until(t, "the handler has returned", func() bool { return e.Attempts() == 0 })
	if n := e.Runners(); n != 0 {
		t.Errorf("the late result brought %d runs back", n)
	}
	if r, err := e.Store.Run(t.Context(), run.ID); err != nil || r.Crashes != 0 || r.Status != domain.RunRunning {
		t.Errorf("the run is %s with %d crashes, %v\n%s", r.Status, r.Crashes, err, e.Journal(run.ID))
	}
	e.Until(e.Run(`{nodes: {a: {type: set, input: 1}}}`, "").ID, domain.RunCompleted, "")
}
