package engine_test

import (
	"context"
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

const twoBranches = `
id: two
nodes:
  left:  {type: shaky}
  right: {type: shaky}
  join:  {type: call, needs: [left, right]}
on_failure: continue_branches
`

// shaky fails until the test disables that.
func shaky(broken *atomic.Bool) *enginetest.Registry {
	return enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, echo).
		Handle("shaky", walk.EffectIdempotent, func(ctx context.Context, c *engine.Call) (engine.Result, error) {
			if broken.Load() {
				return engine.Result{}, &walk.Failure{Code: "shaky", Message: "not today"}
			}
			return echo(ctx, c)
		})
}

// A resume of one step runs only that step until the run is continued. The preview records it, and
// a restart in between changes nothing.
func TestResumeOnlyOneStep(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	broken.Store(true)
	reg, s := shaky(&broken), storetest.Open(t)
	e := enginetest.OpenOn(t, s, reg, engine.Options{})
	run := e.Until(e.Begin(e.Save(twoBranches), "1").ID, domain.RunFailed, "")
	broken.Store(false)
	ctx := t.Context()
	req := domain.ActionRequest{Run: run.ID, Action: domain.ActionResume, Only: "right"}
	p, err := e.Preview(ctx, enginetest.Operator, req)
	if err != nil || names(p.Again) != "right" || names(p.Later) != "join left" || names(p.New) != "" || names(p.Effects) != "right" ||
		p.Only != "right#1" {
		t.Fatalf("%+v %v", p, err)
	}
	plain, err := e.Preview(ctx, enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionResume})
	if err != nil || plain.Digest == p.Digest {
		t.Fatalf("both previews have the digest %s: %v", p.Digest, err)
	}
	req.Digest = plain.Digest
	if _, err := e.Act(ctx, enginetest.Operator, req); domain.CodeOf(err) != domain.CodeStale {
		t.Fatalf("another preview's digest: %v", err)
	}
	req.Digest = p.Digest
	before := len(reg.Calls())
	if _, err := e.Act(ctx, enginetest.Operator, req); err != nil {
		t.Fatal(err)
	}
	run = e.Until(run.ID, domain.RunWaiting, domain.WaitPaused)
	if calls := reg.Calls()[before:]; len(calls) != 1 || calls[0].Node != "right" || !run.Paused {
		t.Fatalf("ran %+v, paused %v\n%s", calls, run.Paused, e.Journal(run.ID))
	}
	e.Close()
	e = enginetest.OpenOn(t, s, reg, engine.Options{})
	e.Until(run.ID, domain.RunWaiting, domain.WaitPaused)
	if _, err := e.Do(run.ID, domain.ActionUnpause); err != nil {
		t.Fatal(err)
	}
	e.Until(run.ID, domain.RunCompleted, "")
	if n := reg.Count("right"); n != 2 {
		t.Errorf("right ran %d times", n)
	}
}

// Resolutions of other steps apply immediately, also when only one step is retried. The preview
// shows that these steps are kept.
func TestResumeOfOneStepKeepsResolvedSteps(t *testing.T) {
	t.Parallel()
	var again atomic.Bool
	started := make(chan struct{}, 3)
	reg := enginetest.NewRegistry().Handle("charge", walk.EffectUnsafe, func(ctx context.Context, _ *engine.Call) (engine.Result, error) {
		if again.Load() {
			return engine.Result{}, nil
		}
		started <- struct{}{}
		<-ctx.Done()
		return engine.Result{}, ctx.Err()
	})
	e := enginetest.Open(t, reg)
	run := e.Run(
		`{nodes: {s: {type: set, input: 1}, a: {type: charge, needs: [s]}, b: {type: charge, needs: [s]}, c: {type: charge, needs: [s]}}}`,
		"",
	)
	for range 3 {
		<-started
	}
	if _, err := e.Do(run.ID, domain.ActionCancel); err != nil {
		t.Fatal(err)
	}
	e.Until(run.ID, domain.RunCancelled, "")
	again.Store(true)
	for node, action := range map[string]string{"a": "retry", "b": "happened", "c": "skip"} {
		if _, err := e.Resolve(t.Context(), enginetest.Operator, domain.ResolveRequest{Run: run.ID, Node: node, Visit: 1,
			Item: -1, Action: action}); err != nil {
			t.Fatal(err)
		}
	}
	req := domain.ActionRequest{Run: run.ID, Action: domain.ActionResume, Only: "a"}
	p, err := e.Preview(t.Context(), enginetest.Operator, req)
	if err != nil || names(p.Again) != "a" || names(p.Keep) != "b c s" {
		t.Fatalf("preview %+v, %v", p, err)
	}
	req.Digest = p.Digest
	if _, err := e.Act(t.Context(), enginetest.Operator, req); err != nil {
		t.Fatal(err)
	}
	e.Until(run.ID, domain.RunCompleted, "")
	if n := len(reg.Calls()); n != 4 || reg.Count("a") != 2 {
		t.Errorf("%d calls, %d of a, want that only a was called again\n%s", n, reg.Count("a"), e.Journal(run.ID))
	}
}

// The daemon may stop while the step runs, because the options are durable.
func TestOnlyOneStepSurvivesARestart(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	broken.Store(true)
	reg, s := shaky(&broken), storetest.Open(t)
	e := enginetest.OpenOn(t, s, reg, engine.Options{})
	src := strings.Replace(twoBranches, "right: {type: shaky}", "right: {type: shaky, retry: {max_attempts: 1, backoff: [1h]}}", 1)
	run := e.Until(e.Begin(e.Save(src), "1").ID, domain.RunFailed, "")
	req := domain.ActionRequest{Run: run.ID, Action: domain.ActionResume, Only: "right", Attempts: 3}
	if _, err := e.Act(t.Context(), enginetest.Operator, req); err != nil {
		t.Fatal(err)
	}
	e.Until(run.ID, domain.RunWaiting, domain.WaitRetry) // three attempts, an hour apart
	e.Close()
	e = enginetest.OpenOn(t, s, reg, engine.Options{})
	e.Until(run.ID, domain.RunWaiting, domain.WaitRetry)
	broken.Store(false)
	if _, err := e.Do(run.ID, domain.ActionRetryNow); err != nil {
		t.Fatal(err)
	}
	e.Until(run.ID, domain.RunWaiting, domain.WaitPaused)
	if n := reg.Count("left"); n != 1 {
		t.Errorf("left ran %d times", n)
	}
}

// A step that reached its timeout can have a longer timeout for one resume.
func TestResumeWithAnotherTimeout(t *testing.T) {
	t.Parallel()
	reg := enginetest.NewRegistry().Handle("slow", walk.EffectIdempotent, func(ctx context.Context, c *engine.Call) (engine.Result, error) {
		if end, ok := ctx.Deadline(); !ok || time.Until(end) > time.Minute {
			return echo(ctx, c)
		}
		<-ctx.Done()
		return engine.Result{}, context.Cause(ctx)
	})
	e := enginetest.Open(t, reg)
	run := e.Until(e.Begin(e.Save("id: slow\nnodes: {a: {type: slow, timeout: 1ms}}\n"), "1").ID, domain.RunFailed, "")
	if run.Error == nil || run.Error.Code != walk.CodeTimeout {
		t.Fatalf("%+v", run.Error)
	}
	req := domain.ActionRequest{Run: run.ID, Action: domain.ActionResume, Timeout: time.Hour}
	p, err := e.Preview(t.Context(), enginetest.Operator, req)
	if err != nil || p.TimeoutMs != 3_600_000 {
		t.Fatalf("%+v %v", p, err)
	}
	req.Digest = p.Digest
	if _, err := e.Act(t.Context(), enginetest.Operator, req); err != nil {
		t.Fatal(err)
	}
	e.Until(run.ID, domain.RunCompleted, "")
}

func TestResumeOptionsAreChecked(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	broken.Store(true)
	e := enginetest.Open(t, shaky(&broken))
	failed := e.Until(e.Begin(e.Save(twoBranches), "1").ID, domain.RunFailed, "")
	waits := e.Until(
		e.Begin(e.Save("id: ask\nnodes: {a: {type: approval, input: {message: m}}}\n"), "1").ID,
		domain.RunWaiting,
		domain.WaitApproval,
	)
	for _, tt := range []struct {
		req  domain.ActionRequest
		says string
	}{
		{domain.ActionRequest{Run: failed.ID, Only: "join"}, "join is not a step that would run again"},
		{domain.ActionRequest{Run: failed.ID, Only: "left#0"}, "not node or node#visit"},
		{domain.ActionRequest{Run: failed.ID, Only: "left#2"}, "left#2 is not a step that would run again"},
		{domain.ActionRequest{Run: failed.ID, Attempts: -1}, "cannot be negative"},
		{domain.ActionRequest{Run: failed.ID, Attempts: 1000}, "1000 attempts are too many"},
		{domain.ActionRequest{Run: failed.ID, Timeout: 1}, "too short"},
		{domain.ActionRequest{Run: waits.ID, Attempts: 2}, "only a failed or cancelled run"},
		{domain.ActionRequest{Run: failed.ID, Action: domain.ActionFork, Only: "left"}, "fork does not accept only"},
		{domain.ActionRequest{Run: failed.ID, Instead: map[string]domain.Override{"left": {}}}, "resume does not accept instead"},
	} {
		if tt.req.Action == "" {
			tt.req.Action = domain.ActionResume
		}
		_, previewed := e.Preview(t.Context(), enginetest.Operator, tt.req)
		_, acted := e.Act(t.Context(), enginetest.Operator, tt.req)
		for _, err := range []error{previewed, acted} {
			if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%+v: %v, want %q", tt.req, err, tt.says)
			}
		}
	}
}
