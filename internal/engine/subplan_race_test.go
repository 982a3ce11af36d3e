package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// delayed is a store that delays the next read of one run.
type delayed struct {
	*store.Store
	run    atomic.Pointer[string]
	looked chan struct{}
	goOn   chan struct{}
}

func (s *delayed) Run(ctx context.Context, id string) (domain.Run, error) {
	if held := s.run.Load(); held != nil && *held == id && s.run.CompareAndSwap(held, nil) {
		close(s.looked)
		<-s.goOn
	}
	return s.Store.Run(ctx, id)
}

// A run that is resumed before its cancel has reached its child also resumes the child.
func TestAResumeBeforeTheChildIsCancelled(t *testing.T) {
	t.Parallel()
	s := &delayed{Store: storetest.Open(t), looked: make(chan struct{}), goOn: make(chan struct{})}
	end, began := make(chan struct{}), make(chan struct{}, 8)
	e := enginetest.OpenWith(
		t,
		s.Store,
		s,
		enginetest.NewRegistry().Handle("park", walk.EffectIdempotent, func(ctx context.Context, _ *engine.Call) (engine.Result, error) {
			began <- struct{}{}
			select {
			case <-end:
				return engine.Result{Output: "done"}, nil
			case <-ctx.Done():
				return engine.Result{}, context.Cause(ctx)
			}
		}),
		engine.Options{},
	)
	e.Save(`{id: helper, nodes: {a: {type: park}}}`)
	run := e.Run(`{nodes: {sub: {type: plan, plan: helper}}}`, "")
	<-began
	e.Until(run.ID, domain.RunWaiting, domain.WaitChild)
	d, err := e.Detail(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	child := d.Waits[0].Child
	s.run.Store(&child)
	if _, err := e.Do(run.ID, domain.ActionCancel); err != nil {
		t.Fatal(err)
	}
	<-s.looked // the cancel is about to reach the child
	if _, err := e.Do(run.ID, domain.ActionResume); err != nil {
		t.Fatal(err)
	}
	e.Until(run.ID, domain.RunWaiting, domain.WaitChild)
	close(s.goOn)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = e.Wait(t.Context(), run.ID)
	}()
	select {
	case <-began: // the child was cancelled, and is active again
	case <-ended:
		t.Fatalf("the run ended:\n%s", e.Journal(run.ID))
	}
	close(end)
	<-ended
	if r := e.Settle(run.ID); r.Status != domain.RunCompleted {
		t.Errorf("%s %+v\n%s", r.Status, r.Error, e.Journal(run.ID))
	}
}

// A cancelled child with an attempt in doubt cannot be resumed. Its parent run records that, and
// continues after the doubt is resolved.
func TestAResumeOfAChildInDoubt(t *testing.T) {
	t.Parallel()
	began := make(chan struct{}, 8)
	e := enginetest.Open(
		t,
		enginetest.NewRegistry().Handle("pay", walk.EffectUnsafe, func(context.Context, *engine.Call) (engine.Result, error) {
			began <- struct{}{}
			return engine.Result{}, errors.New("the line went dead")
		}),
	)
	e.Save(`{id: helper, nodes: {a: {type: pay}}}`)
	run := e.Run(`{nodes: {sub: {type: plan, plan: helper, retry: {max_attempts: 3}}}}`, "")
	<-began
	e.Until(run.ID, domain.RunWaiting, domain.WaitChild)
	d, err := e.Detail(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	child := d.Waits[0].Child
	e.Until(child, domain.RunWaiting, domain.WaitInDoubt)
	if _, err := e.Do(run.ID, domain.ActionCancel); err != nil {
		t.Fatal(err)
	}
	e.Until(child, domain.RunCancelled, "")
	if _, err := e.Do(run.ID, domain.ActionResume); err != nil {
		t.Fatal(err)
	}
	if r := e.Settle(run.ID); r.Status != domain.RunFailed || r.Error == nil ||
		!strings.Contains(r.Error.Message, "iteration 1 of step a is in doubt") {
		t.Fatalf("%s %+v\n%s", r.Status, r.Error, e.Journal(run.ID))
	}
	if _, err := e.Resolve(t.Context(), enginetest.Operator, domain.ResolveRequest{Run: child, Node: "a", Visit: 1,
		Action: "happened", Output: domain.RawJSON(`"paid"`), Reason: "it is in the ledger"}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Do(run.ID, domain.ActionResume); err != nil {
		t.Fatal(err)
	}
	if r := e.Settle(run.ID); r.Status != domain.RunCompleted {
		t.Errorf("%s %+v\n%s", r.Status, r.Error, e.Journal(run.ID))
	}
}
