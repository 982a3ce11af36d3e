package engine_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// conversation makes a model call as step 1, calls that a person must approve as steps 2 and 3, and
// the answer as step 4.
type conversation struct {
	models, calls atomic.Int32
	fail          atomic.Int32 // attempts that fail after the first call
	class         walk.Effect  // class of the calls; empty: unsafe
}

func (*conversation) Stepped() bool { return true }

func (k *conversation) Handle(_ context.Context, c *engine.Call) (engine.Result, error) {
	model := func(n int) error {
		_, err := c.Substep(n, "model", "m", walk.EffectIdempotent, func() (any, domain.Usage, error) {
			k.models.Add(1)
			return "thinking", domain.Usage{InputTokens: 10}, nil
		})
		return err
	}
	if err := model(1); err != nil {
		return engine.Result{}, err
	}
	var outcomes []string
	var errs []error
	for n := 2; n <= 3; n++ {
		err := c.Approve(n, engine.CallToApprove{Tool: "mail", Args: map[string]any{"to": fmt.Sprint(n)}})
		var f *walk.Failure
		switch {
		case errors.As(err, &f):
			outcomes = append(outcomes, f.Message)
			continue
		case err != nil:
			errs = append(errs, err)
			continue
		}
		_, err = c.Substep(n, "tool:mail", "t", cmp.Or(k.class, walk.EffectUnsafe), func() (any, domain.Usage, error) {
			k.calls.Add(1)
			return "sent", domain.Usage{}, nil
		})
		if err != nil {
			return engine.Result{}, err
		}
		outcomes = append(outcomes, "sent")
	}
	if err := errors.Join(errs...); err != nil {
		return engine.Result{}, err
	}
	if err := model(4); err != nil {
		return engine.Result{}, err
	}
	if k.fail.Add(-1) >= 0 {
		return engine.Result{}, &walk.Failure{Code: "flaky", Message: "again", NoEffect: true}
	}
	return engine.Result{Output: strings.Join(outcomes, "; ")}, nil
}

func open(t *testing.T, e *enginetest.Engine, run string) domain.Approval {
	t.Helper()
	e.Until(run, domain.RunWaiting, domain.WaitApproval)
	list, err := e.Store.Approvals(t.Context(), domain.ApprovalFilter{Run: run, Status: "pending"})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("open questions: %+v, %v\n%s", list.Items, err, e.Journal(run))
	}
	return list.Items[0]
}

func decide(t *testing.T, e *enginetest.Engine, p domain.Approval, yes bool, comment string) {
	t.Helper()
	if _, err := e.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: p.ID, Approve: yes, Comment: comment,
		Digest: p.Digest}); err != nil {
		t.Fatal(err)
	}
}

// A call that requires approval suspends its conversation durably. After restarts, nothing runs
// twice. Each call has its own request, and a rejected call is an answer to the model.
func TestConversationsWaitForAnApproval(t *testing.T) {
	t.Parallel()
	k := &conversation{}
	reg := enginetest.NewRegistry()
	reg.Add("talk", walk.EffectUnsafe, k)
	s := storetest.Open(t)
	e := enginetest.OpenOn(t, s, reg, engine.Options{})
	run := e.Run(`{nodes: {a: {type: talk}}}`, "").ID

	first := open(t, e, run)
	if first.Tool != "mail" || string(first.Arguments) != `{"to":"2"}` || !strings.Contains(first.Message, "step a") {
		t.Errorf("question %+v", first)
	}
	if _, err := e.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: first.ID, Approve: true,
		Digest: "other"}); domain.CodeOf(
		err,
	) != domain.CodeStale {
		t.Errorf("another digest: %v", err)
	}
	e.Close()
	e = enginetest.OpenOn(t, s, reg, engine.Options{})
	decide(t, e, first, true, "")
	second := open(t, e, run)
	if second.ID == first.ID || string(second.Arguments) != `{"to":"3"}` {
		t.Errorf("question %+v", second)
	}
	if _, err := e.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: first.ID}); domain.CodeOf(
		err,
	) != domain.CodeConflict {
		t.Errorf("answered again: %v", err)
	}
	e.Close()
	e = enginetest.OpenOn(t, s, reg, engine.Options{})
	decide(t, e, second, false, "not to them")
	r := e.Settle(run)
	if want := `"sent; the call of mail was rejected by marta: not to them"`; string(r.Output) != want {
		t.Errorf("got %s %s, want %s\n%s", r.Status, r.Output, want, e.Journal(run))
	}
	if k.models.Load() != 2 || k.calls.Load() != 1 || r.Usage.InputTokens != 20 {
		t.Errorf("%d model calls, %d calls, usage %+v", k.models.Load(), k.calls.Load(), r.Usage)
	}
}

// A retry after an error starts the conversation again. An earlier approval does not apply, because
// the call is another one.
func TestConsentIsForOneCall(t *testing.T) {
	t.Parallel()
	k := &conversation{class: walk.EffectIdempotent}
	k.fail.Store(1)
	reg := enginetest.NewRegistry()
	reg.Add("talk", walk.EffectUnsafe, k)
	e := enginetest.Open(t, reg)
	run := e.Run(`{nodes: {a: {type: talk, retry: {max_attempts: 2, backoff: [1ms]}}}}`, "").ID
	asked := map[string]bool{}
	for range 4 {
		p := open(t, e, run)
		asked[p.ID] = true
		decide(t, e, p, true, "")
	}
	if r := e.Settle(run); r.Status != domain.RunCompleted || len(asked) != 4 || k.calls.Load() != 4 {
		t.Errorf("%s, %d questions, %d calls\n%s", r.Status, len(asked), k.calls.Load(), e.Journal(run))
	}
}

// A retry after completed calls that are not idempotent continues after them. Approved calls that
// were sent are neither requested nor sent again.
func TestARetryAfterACompletedCallContinues(t *testing.T) {
	t.Parallel()
	k := &conversation{}
	k.fail.Store(1)
	reg := enginetest.NewRegistry()
	reg.Add("talk", walk.EffectUnsafe, k)
	e := enginetest.Open(t, reg)
	run := e.Run(`{nodes: {a: {type: talk, retry: {max_attempts: 2, backoff: [1ms]}}}}`, "").ID
	for range 2 {
		decide(t, e, open(t, e, run), true, "")
	}
	if r := e.Settle(run); r.Status != domain.RunCompleted || k.calls.Load() != 2 || k.models.Load() != 2 {
		t.Errorf("%s, %d calls, %d model calls\n%s", r.Status, k.calls.Load(), k.models.Load(), e.Journal(run))
	}
}

// A cancelled run withdraws its approval requests.
func TestCancelledRunsRequestNothing(t *testing.T) {
	t.Parallel()
	reg := enginetest.NewRegistry()
	reg.Add("talk", walk.EffectUnsafe, &conversation{})
	e := enginetest.Open(t, reg)
	run := e.Run(`{nodes: {a: {type: talk}}}`, "").ID
	p := open(t, e, run)
	if _, err := e.Do(run, domain.ActionCancel); err != nil {
		t.Fatal(err)
	}
	if r := e.Settle(run); r.Status != domain.RunCancelled {
		t.Errorf("%s", r.Status)
	}
	if p, err := e.Store.Approval(t.Context(), p.ID); err != nil || p.Status != "cancelled" {
		t.Errorf("%+v %v", p, err)
	}
	if _, err := e.Do(run, domain.ActionResume); err != nil {
		t.Fatal(err)
	}
	if q := open(t, e, run); q.ID == p.ID {
		t.Error("the question that was taken back is open again")
	}
}

type parallel struct{}

func (parallel) Stepped() bool { return true }

// Handle makes two unsafe calls at once. The second has its result before the first is lost.
func (parallel) Handle(_ context.Context, c *engine.Call) (engine.Result, error) {
	begun, second := make(chan struct{}), make(chan error, 1)
	go func() {
		<-begun
		_, err := c.Substep(2, "tool:b", "b", walk.EffectUnsafe, func() (any, domain.Usage, error) { return "done", domain.Usage{}, nil })
		second <- err
	}()
	_, err := c.Substep(1, "tool:a", "a", walk.EffectUnsafe, func() (any, domain.Usage, error) {
		close(begun)
		if err := <-second; err != nil {
			return nil, domain.Usage{}, err
		}
		return nil, domain.Usage{}, &walk.Failure{Code: "reset", Message: "connection reset"}
	})
	return engine.Result{}, err
}

// Of two unsafe calls in flight, the one without a result is in doubt. The result of the other does
// not matter.
func TestParallelCallsAreInDoubtSeparately(t *testing.T) {
	t.Parallel()
	reg := enginetest.NewRegistry()
	reg.Add("parallel", walk.EffectUnsafe, parallel{})
	e := enginetest.Open(t, reg)
	run := e.Run(`{nodes: {a: {type: parallel, retry: {max_attempts: 3, backoff: [1ms]}}}}`, "").ID
	if r := e.Settle(run); r.WaitReason != domain.WaitInDoubt {
		t.Errorf("%s %s\n%s", r.Status, r.WaitReason, e.Journal(run))
	}
}
