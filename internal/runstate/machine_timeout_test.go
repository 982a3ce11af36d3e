package runstate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// armed returns the last time for which an event armed the timer of the run.
func (f *fixture) armed() (at time.Time) {
	for _, c := range f.last {
		if t, ok := c.Task.(runstate.ArmTimer); ok {
			at = t.At
		}
	}
	return at
}

// A run fails when the timeout of its plan has passed since its start, waits included. Its finally steps
// run, and nothing limits their time.
func TestTimeoutOfARun(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `
timeout: 30m
nodes: {ask: {type: approval, input: {message: go?}}, then: {type: noop, needs: [ask]}}
finally: {tell: {type: approval, input: {message: "${last.code} ${last.status}"}}}`)
	f.do(runstate.Advance{})
	f.complete()
	end := f.m.Run.StartedAt.Add(30 * time.Minute)
	if f.m.Run.Status != domain.RunWaiting || !f.m.Run.DueAt.Equal(end) || !f.armed().Equal(end) {
		t.Fatalf("the run is %s, due at %s, and its timer fires at %s; want %s", f.m.Run.Status, f.m.Run.DueAt, f.armed(), end)
	}
	f.env.Now = end.Add(-time.Second)
	f.do(runstate.TimerDue{})
	f.complete()
	if f.m.State.Cancelled || !f.armed().Equal(end) {
		t.Fatalf("a timer that fires early stopped the run, or was not armed again: %s", f.armed())
	}
	f.env.Now = end
	f.do(runstate.TimerDue{})
	f.do(runstate.Advance{})
	f.complete()
	if w := f.m.State.Waits(); len(w) != 1 || w[0].Message != "run_timeout failed" || !f.m.Run.DueAt.IsZero() {
		t.Fatalf("the run waits for %+v, due at %s", w, f.m.Run.DueAt)
	}
	f.env.Now = end.Add(time.Hour)
	f.do(runstate.TimerDue{})
	f.complete()
	if f.m.Ended() {
		t.Fatal("the timeout ended a finally step")
	}
	f.do(&runstate.OperatorAction{Actor: ada, Request: domain.ActionRequest{Action: domain.ActionCancel}})
	f.complete()
	e := f.m.Run.Error
	if f.m.Run.Status != domain.RunFailed || e == nil || e.Code != walk.CodeRunTimeout ||
		!strings.Contains(f.m.Run.Headline, "the run has not ended within its timeout of 30m") {
		t.Errorf("the run is %s: %+v, %q", f.m.Run.Status, e, f.m.Run.Headline)
	}
}

// A resume gives a run that timed out the same time again. An attempt that is active at the end is
// cancelled, and a non-idempotent one is in doubt.
func TestResumeAfterATimeout(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `{timeout: 1m, nodes: {pay: {type: work}, log: {type: work}}}`)
	pay, log := f.begin(walk.EffectUnsafe), f.begin(walk.EffectIdempotent)
	f.complete()
	f.env.Now = f.m.Run.StartedAt.Add(time.Minute)
	f.do(runstate.TimerDue{})
	stopped := map[*runstate.Attempt]bool{}
	for _, c := range f.last {
		if t, ok := c.Task.(runstate.CancelAttempt); ok {
			stopped[t.Attempt] = t.Cause == runstate.StopCancelled
		}
	}
	if !stopped[pay] || !stopped[log] {
		t.Fatalf("stopped: %v", stopped)
	}
	lost := domain.Failure{Code: walk.CodeCancelled, Message: "cancelled"}
	f.failure(pay, lost, runstate.StopCancelled)
	f.failure(log, lost, runstate.StopCancelled)
	f.complete()
	if f.m.Run.Status != domain.RunFailed || len(f.m.State.UnresolvedDoubts()) != 1 {
		t.Fatalf("the run is %s, and in doubt are %v\n%s", f.m.Run.Status, f.m.State.UnresolvedDoubts(), f.rows())
	}
	f.do(&runstate.StepResolved{Actor: ada,
		Request: domain.ResolveRequest{Node: "pay", Visit: 1, Item: -1, Action: runstate.ActionHappened}})
	reset, failure := f.m.State.Clone().Walk.Reset()
	if failure != nil {
		t.Fatal(failure)
	}
	f.env.Now = f.env.Now.Add(time.Hour)
	f.do(&runstate.OperatorAction{Actor: ada, Request: domain.ActionRequest{Action: domain.ActionResume}, Reset: &reset})
	again := f.env.Now
	f.complete()
	f.begin(walk.EffectIdempotent)
	f.complete()
	if f.m.Run.Status != domain.RunRunning || !f.m.Run.DueAt.Equal(again.Add(time.Minute)) {
		t.Errorf("the run is %s, and its time ends at %s; want %s", f.m.Run.Status, f.m.Run.DueAt, again.Add(time.Minute))
	}
}
