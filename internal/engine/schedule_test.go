package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

func TestQueueIsByPriorityThenAge(t *testing.T) {
	t.Parallel()
	gate, started := make(chan struct{}), make(chan struct{}, 8)
	var mu sync.Mutex
	var order []string
	reg := enginetest.NewRegistry().Handle("gate", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
		mu.Lock()
		order = append(order, jsonvalue.Text(c.Input))
		mu.Unlock()
		started <- struct{}{}
		<-gate
		return engine.Result{}, nil
	})
	e := enginetest.OpenOn(t, storetest.Open(t), reg, engine.Options{MaxRunning: 1})
	v := e.Save(`{nodes: {a: {type: gate, input: "${input}"}}}`)
	var ids []string
	for i, priority := range []int{0, 0, 5, 9, 5} {
		r, err := e.Start(
			t.Context(),
			enginetest.Operator,
			domain.StartRequest{Hash: v.Hash, Input: domain.RawJSON(fmt.Sprintf(`"%d"`, i)), Priority: priority},
		)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
		if i == 0 {
			<-started
		}
	}
	if r, _ := e.Store.Run(t.Context(), ids[3]); r.Status != domain.RunQueued {
		t.Errorf("a run beyond max_running is %s, want queued", r.Status)
	}
	close(gate)
	for _, id := range ids {
		e.Until(id, domain.RunCompleted, "")
	}
	if want := []string{"0", "3", "2", "4", "1"}; !slices.Equal(order, want) {
		t.Errorf("got order %v, want %v", order, want)
	}
}

// An action on a queued run changes the run but not its position in the queue.
func TestQueuedRunsStartAfterAnAction(t *testing.T) {
	t.Parallel()
	gate, started := make(chan struct{}), make(chan struct{}, 1)
	reg := enginetest.NewRegistry().Handle("gate", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
		started <- struct{}{}
		<-gate
		return engine.Result{}, nil
	})
	e := enginetest.OpenOn(t, storetest.Open(t), reg, engine.Options{MaxRunning: 1})
	e.Begin(e.Save(`{nodes: {a: {type: gate}}}`), "")
	<-started
	v := e.Save(`{nodes: {a: {type: set, input: 1}}}`)
	var ids []string
	for range 20 {
		r := e.Begin(v, "")
		ids = append(ids, r.ID)
		if _, err := e.Act(t.Context(), enginetest.Operator, domain.ActionRequest{Run: r.ID, Action: domain.ActionLimits,
			Limits: domain.Limits{MaxSteps: 9}}); err != nil {
			t.Fatal(err)
		}
	}
	close(gate)
	for _, id := range ids {
		if run := e.Until(id, domain.RunCompleted, ""); run.Limits.MaxSteps != 9 {
			t.Errorf("run %s had the limits %+v, want those that it was given in the queue", id, run.Limits)
		}
	}
}

func TestAtMostMaxNodesRun(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int32
	reg := enginetest.NewRegistry().Handle("work", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
		n := now.Add(1)
		for {
			old := most.Load()
			if n <= old || most.CompareAndSwap(old, n) {
				break
			}
		}
		time.Sleep(time.Millisecond)
		now.Add(-1)
		return engine.Result{}, nil
	})
	e := enginetest.OpenOn(t, storetest.Open(t), reg, engine.Options{MaxNodes: 3})
	v := e.Save(`{nodes: {a: {type: work, foreach: "${input}", max_parallel: 50}}}`)
	var ids []string
	for range 4 {
		ids = append(ids, e.Begin(v, `[1,2,3,4,5,6,7,8,9,10]`).ID)
	}
	for _, id := range ids {
		e.Until(id, domain.RunCompleted, "")
	}
	if most.Load() != 3 {
		t.Errorf("%d nodes ran at once, want 3", most.Load())
	}
}

func TestWaitingRunsHoldNoSlot(t *testing.T) {
	t.Parallel()
	e := enginetest.OpenOn(t, storetest.Open(t), enginetest.NewRegistry(), engine.Options{MaxRunning: 1})
	waiting := e.Run(`{nodes: {a: {type: approval, input: {message: m}}, b: {type: set, needs: [a]}}}`, "")
	e.Until(waiting.ID, domain.RunWaiting, domain.WaitApproval)
	e.Until(e.Run(`{nodes: {a: {type: set, input: 1}}}`, "").ID, domain.RunCompleted, "")
}

func TestConcurrencyKeys(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	v := e.Save(`{nodes: {a: {type: approval, input: {message: m}}}}`)
	start := func(key, on string) (domain.Run, error) {
		return e.Start(
			t.Context(),
			enginetest.Operator,
			domain.StartRequest{Hash: v.Hash, Concurrency: &domain.Concurrency{Key: key, Limit: 1, OnConflict: on}},
		)
	}
	first, err := start("queue", "queue")
	if err != nil {
		t.Fatal(err)
	}
	e.Until(first.ID, domain.RunWaiting, domain.WaitApproval)
	second, err := start("queue", "queue")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := start("queue", "skip"); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("skip: %v", err)
	}
	if r, _ := e.Store.Run(t.Context(), second.ID); r.Status != domain.RunQueued {
		t.Errorf("the second run is %s while the first is active", r.Status)
	}
	if _, err := e.Do(first.ID, domain.ActionCancel); err != nil {
		t.Fatal(err)
	}
	e.Until(second.ID, domain.RunWaiting, domain.WaitApproval)
	third, err := start("queue", "cancel_oldest")
	if err != nil {
		t.Fatal(err)
	}
	e.Until(second.ID, domain.RunCancelled, "")
	e.Until(third.ID, domain.RunWaiting, domain.WaitApproval)
}

// A repeated start whose answer was lost returns the run of the first request. It does not count as
// another run of its concurrency key, which would cancel or refuse its own run.
func TestARepeatedStartReturnsItsOwnRun(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	v := e.Save(`{nodes: {a: {type: approval, input: {message: m}}}}`)
	for _, on := range []string{"queue", "skip", "cancel_oldest"} {
		r := domain.StartRequest{Hash: v.Hash, Key: "request-" + on, Concurrency: &domain.Concurrency{Key: on, Limit: 1, OnConflict: on}}
		first, err := e.Start(t.Context(), enginetest.Operator, r)
		if err != nil {
			t.Fatal(err)
		}
		e.Until(first.ID, domain.RunWaiting, domain.WaitApproval)
		again, err := e.Start(t.Context(), enginetest.Operator, r)
		if err != nil || again.ID != first.ID {
			t.Errorf("%s: the repeat returned run %s, %v; want run %s", on, again.ID, err, first.ID)
		}
		if r, err := e.Store.Run(t.Context(), first.ID); err != nil || r.Status != domain.RunWaiting {
			t.Errorf("%s: after the repeat the run is %s, %v", on, r.Status, err)
		}
	}
}

// Concurrent repetitions of a start are one run, even if the rule of the concurrency key would
// cancel or refuse the second.
func TestSimultaneousRepeatsAreOneRun(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	v := e.Save(`{nodes: {a: {type: approval, input: {message: m}}}}`)
	for _, on := range []string{"skip", "cancel_oldest"} {
		var wg sync.WaitGroup
		ids := make([]string, 8)
		for i := range ids {
			wg.Go(func() {
				r, err := e.Start(
					t.Context(),
					enginetest.Operator,
					domain.StartRequest{
						Hash:        v.Hash,
						Key:         "together-" + on,
						Concurrency: &domain.Concurrency{Key: on, Limit: 1, OnConflict: on},
					},
				)
				if err != nil {
					t.Errorf("%s: %v", on, err)
				}
				ids[i] = r.ID
			})
		}
		wg.Wait()
		if slices.Sort(ids); ids[0] != ids[len(ids)-1] {
			t.Errorf("%s: one key gave the runs %v", on, ids)
		}
		e.Until(ids[0], domain.RunWaiting, domain.WaitApproval)
	}
}

// A start that cancels an older run does not wait for that run's end. The new run does.
func TestANewRunWaitsForTheRunThatItCancels(t *testing.T) {
	t.Parallel()
	started, cancelled, release := make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{})
	reg := enginetest.NewRegistry().
		Handle("stubborn", walk.EffectIdempotent, func(ctx context.Context, _ *engine.Call) (engine.Result, error) {
			started <- struct{}{}
			<-ctx.Done()
			cancelled <- struct{}{}
			<-release
			return engine.Result{}, context.Cause(ctx)
		})
	e := enginetest.OpenOn(t, storetest.Open(t), reg, engine.Options{CancelGrace: time.Hour})
	stubborn, quick := e.Save(`{nodes: {a: {type: stubborn}}}`), e.Save(`{nodes: {a: {type: set, input: 1}}}`)
	start := func(hash string) domain.Run {
		t.Helper()
		r, err := e.Start(t.Context(), enginetest.Operator,
			domain.StartRequest{Hash: hash, Concurrency: &domain.Concurrency{Key: "one", Limit: 1, OnConflict: "cancel_oldest"}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	old := start(stubborn.Hash)
	<-started
	next := start(quick.Hash)
	<-cancelled
	d, err := e.Detail(t.Context(), next.ID)
	if err != nil || d.Run.Status != domain.RunQueued || !slices.Equal(d.BlockedBy, []string{old.ID}) {
		t.Errorf("the new run is %s, blocked by %v, %v; want run %s", d.Run.Status, d.BlockedBy, err, old.ID)
	}
	close(release)
	e.Until(next.ID, domain.RunCompleted, "")
	e.Until(old.ID, domain.RunCancelled, "")
}

func TestOneRunPerKey(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	v := e.Save(`{nodes: {a: {type: set, input: 1}}}`)
	ids := map[string]bool{}
	for range 3 {
		r, err := e.Start(t.Context(), enginetest.Operator, domain.StartRequest{Hash: v.Hash, Key: "once"})
		if err != nil {
			t.Fatal(err)
		}
		ids[r.ID] = true
	}
	if len(ids) != 1 {
		t.Errorf("one key gave %d runs", len(ids))
	}
}

// Two engines share one store. One of them executes the run to its end, and the unsafe node is
// called once.
func TestASecondEngineIsFenced(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	gate, started := make(chan struct{}), make(chan struct{}, 4)
	handler := func(ctx context.Context, c *engine.Call) (engine.Result, error) {
		started <- struct{}{}
		select {
		case <-gate:
		case <-ctx.Done():
		}
		return engine.Result{Output: 1}, nil
	}
	plan := `{nodes: {a: {type: charge}, b: {type: set}}, edges: [{from: a, to: b}]}`
	one := enginetest.NewRegistry().Handle("charge", walk.EffectUnsafe, handler)
	two := enginetest.NewRegistry().Handle("charge", walk.EffectUnsafe, handler)
	a := enginetest.OpenOn(t, s, one, engine.Options{})
	run := a.Run(plan, "")
	<-started
	b := enginetest.OpenOn(t, s, two, engine.Options{}) // considers the first engine crashed
	b.Until(run.ID, domain.RunWaiting, domain.WaitInDoubt)
	close(gate) // the first engine reports its result too late
	if _, err := b.Resolve(t.Context(), enginetest.Operator, domain.ResolveRequest{Run: run.ID, Node: "a", Visit: 1, Item: -1,
		Action: "happened", Output: domain.RawJSON(`2`)}); err != nil {
		t.Fatal(err)
	}
	r := b.Until(run.ID, domain.RunCompleted, "")
	if string(r.Output) != "2" || one.Count("a")+two.Count("a") != 1 {
		t.Errorf("got %s after %d and %d calls\n%s", r.Output, one.Count("a"), two.Count("a"), b.Journal(run.ID))
	}
}

func TestOwnRunsOnly(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	reg := enginetest.NewRegistry().Handle("echo", walk.EffectIdempotent, echo)
	e := enginetest.OpenOn(t, s, reg, engine.Options{})
	v := e.Save(`{nodes: {a: {type: echo, input: 1}}}`)
	e.Close()
	other := storetest.Run(t, s, v, "")
	e = enginetest.OpenOn(t, s, reg, engine.Options{OwnRunsOnly: true})
	e.Until(e.Begin(v, "").ID, domain.RunCompleted, "")
	if r, _ := s.Run(t.Context(), other.ID); r.Status != domain.RunQueued {
		t.Errorf("another's run is %s", r.Status)
	}
	// On request, an engine continues a run that a crashed process left.
	if _, err := e.Do(other.ID, domain.ActionResume); err != nil {
		t.Fatal(err)
	}
	e.Until(other.ID, domain.RunCompleted, "")
}

func TestAnAbandonedRunContinuesOnRequest(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	reg := enginetest.NewRegistry().Handle("echo", walk.EffectIdempotent, echo)
	cut := enginetest.NewCut(s, 1)
	e := enginetest.OpenWith(t, s, cut, reg, engine.Options{OwnRunsOnly: true})
	run := e.Run(`{nodes: {a: {type: echo, input: 1}}}`, "")
	<-cut.Dead()
	e.Close()
	e = enginetest.OpenOn(t, s, reg, engine.Options{OwnRunsOnly: true})
	p, err := e.Preview(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionResume})
	if err != nil || !p.Allowed {
		t.Errorf("preview %+v, %v", p, err)
	}
	if _, err := e.Act(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionResume,
		Digest: p.Digest}); err != nil {
		t.Fatal(err)
	}
	if r := e.Until(run.ID, domain.RunCompleted, ""); string(r.Output) != "1" || r.Crashes != 1 {
		t.Errorf("got %s after %d crashes", r.Output, r.Crashes)
	}
}

func TestRolesAreChecked(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	viewer := domain.Actor{Name: "vera", Role: domain.RoleViewer, Source: "api"}
	run := e.Settle(e.Run(`{id: p, nodes: {a: {type: set, input: 1}}}`, "").ID)
	ctx := t.Context()
	for name, do := range map[string]func() error{
		"save": func() error {
			_, _, _, _, err := e.SavePlan(ctx, viewer, []byte(`{nodes: {a: {type: set}}}`), planner.FormatAuto, "upload", "")
			return err
		},
	} {
		if err := do(); domain.CodeOf(err) != domain.CodeForbidden {
			t.Errorf("%s by a viewer: %v, want forbidden", name, err)
		}
	}
	list, err := e.Store.AuditEvents(ctx, domain.AuditFilter{Actor: "vera", Result: "denied"})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("%d refusals are audited, %v; want 1", len(list.Items), err)
	}
	storetest.Pause(t, e.Store, "p", &domain.Disablement{Since: time.Now(), By: "otto", Reason: "it floods the bank"})
	for name, r := range map[string]domain.StartRequest{"its key": {Plan: "p"}, "its hash": {Hash: run.Hash}} {
		if _, err := e.Start(ctx, enginetest.Operator, r); domain.CodeOf(err) != domain.CodeConflict ||
			!strings.Contains(err.Error(), "it floods the bank") {
			t.Errorf("start of a paused plan by %s: %v", name, err)
		}
	}
	if _, err := e.Start(ctx, enginetest.Operator, domain.StartRequest{Plan: "p", Dry: true}); err != nil {
		t.Errorf("a dry run of a paused plan: %v", err)
	}
	if _, err := e.Act(ctx, enginetest.Operator, domain.ActionRequest{Run: e.Settle(run.ID).ID, Action: domain.ActionRerun}); err != nil {
		t.Errorf("a rerun of a paused plan: %v", err)
	}
	storetest.Pause(t, e.Store, "p", nil)
	if _, err := e.Start(ctx, enginetest.Operator, domain.StartRequest{Plan: "p"}); err != nil {
		t.Errorf("start of a plan that is paused no more: %v", err)
	}
	storetest.Archive(t, e.Store, "p", true)
	if _, err := e.Start(ctx, enginetest.Operator, domain.StartRequest{Plan: "p"}); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("start of an archived plan: %v", err)
	}
}

func TestInputIsChecked(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	v := e.Save(`{input: {type: object, properties: {n: {type: integer}}, required: [n]}, nodes: {a: {type: set, input: "${input.n}"}}}`)
	for input, ok := range map[string]bool{`{"n": 1}`: true, `{"n": "x"}`: false, `{}`: false, ``: false} {
		r := domain.StartRequest{Hash: v.Hash}
		if input != "" {
			r.Input = domain.RawJSON(input)
		}
		_, err := e.Start(t.Context(), enginetest.Operator, r)
		if ok != (err == nil) || !ok && domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("input %q: %v", input, err)
		}
	}
}

// A run whose plan is incompatible with this server releases its slot, and continues when the plan
// is compatible again.
func TestAPlanThatDoesNotFitHoldsNoSlot(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	with := enginetest.NewRegistry().Handle("tooled", walk.EffectIdempotent, echo)
	e := enginetest.OpenOn(t, s, with, engine.Options{MaxRunning: 1})
	v := e.Save(`{nodes: {a: {type: approval, input: {message: m}}, b: {type: tooled, needs: [a], input: 1}}}`)
	run := e.Settle(e.Begin(v, "").ID)
	never := e.Save(`{nodes: {b: {type: tooled, input: 2}}}`)
	e.Close()
	queued := storetest.Run(t, s, never, "")
	without := enginetest.NewRegistry().Handle("other", walk.EffectIdempotent, echo)
	e = enginetest.OpenOn(t, s, without, engine.Options{MaxRunning: 1})
	if r := e.Until(queued.ID, domain.RunFailed, ""); r.Error.Code != "plan" {
		t.Errorf("got %+v", r.Error)
	}
	e.Until(e.Run(`{nodes: {a: {type: other, input: 3}}}`, "").ID, domain.RunCompleted, "")
	if _, err := e.Do(run.ID, domain.ActionCancel); err == nil {
		t.Error("a run whose plan cannot be compiled was acted on")
	}
	if d, err := e.Detail(t.Context(), run.ID); err != nil || len(d.Journal) == 0 {
		t.Errorf("its journal cannot be shown: %v", err)
	}
	if l := e.Load(); l.Working != 0 || l.Queued != 0 {
		t.Errorf("got load %+v, want none", l)
	}
	e.Close()
	e = enginetest.OpenOn(t, s, with, engine.Options{MaxRunning: 1})
	list, err := s.Approvals(t.Context(), domain.ApprovalFilter{Run: run.ID})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%v, %v", list.Items, err)
	}
	if _, err := e.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: list.Items[0].ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	e.Until(run.ID, domain.RunCompleted, "")
	if _, err := e.Do(queued.ID, domain.ActionResume); err != nil {
		t.Fatal(err)
	}
	if r := e.Until(queued.ID, domain.RunCompleted, ""); string(r.Output) != "2" || r.Error != nil {
		t.Errorf("the run that did not fit ends with %s, %v", r.Output, r.Error)
	}
}
