package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// blocks is a handler that returns when its context ends.
func blocks(ctx context.Context, _ *engine.Call) (engine.Result, error) {
	<-ctx.Done()
	return engine.Result{}, context.Cause(ctx)
}

// The timeout of a step with a sub-plan or a block cancels the child run, whatever that waits for. The step fails with
// the code timeout, and its rules and edges apply.
func TestTheTimeoutOfAChildRun(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry().Handle("blocks", walk.EffectIdempotent, blocks))
	for name, nodes := range map[string]string{
		"wait":     `{w: {type: wait, input: {for: 1h}}}`,
		"approval": `{a: {type: approval, input: {message: "ok?"}}}`,
		"call":     `{c: {type: blocks}}`,
		"deeper":   `{d: {do: {nodes: {w: {type: wait, input: {for: 1h}}}}}}`,
	} {
		e.Save(`{id: sub-` + name + `, nodes: ` + nodes + `}`)
		for kind, step := range map[string]string{"sub-plan": `type: plan, plan: sub-` + name, "block": `do: {nodes: ` + nodes + `}`} {
			run := e.Settle(e.Run(`{start: sub, nodes: {sub: {`+step+`, timeout: 5ms, on_error: [{code: timeout, to: sorry}]},
				sorry: {type: set, input: "${last.error}"}}}`, "").ID)
			if run.Status != domain.RunCompleted || !strings.HasPrefix(string(run.Output), `"timed out after 5ms; run `) {
				t.Errorf("%s in a %s: %s %s\n%s", name, kind, run.Status, run.Output, e.Journal(run.ID))
			}
			for _, child := range children(t, e, run.ID) {
				if child.Status != domain.RunCancelled {
					t.Errorf("%s in a %s: the child run is %s", name, kind, child.Status)
				}
			}
		}
	}
}

// A step whose child run timed out is retried with a new child run, after the finally steps of the first one.
// Without a handler of the failure, the run fails with the code timeout, and a resume continues the last child run.
func TestARetryAfterTheTimeoutOfAChildRun(t *testing.T) {
	t.Parallel()
	registry := enginetest.NewRegistry().Handle("call", walk.EffectIdempotent, echo)
	inBubble(t, registry, func(t *testing.T, e *enginetest.Engine, _ func() *enginetest.Engine) {
		e.Save(`{id: slow, nodes: {w: {type: wait, input: {event: go, key: "${run.id}"}}}, finally: {free: {type: call}}}`)
		run := e.Settle(e.Run(`{nodes: {sub: {type: plan, plan: slow, timeout: 5s, retry: {max_attempts: 2, backoff: [1s]}}}}`, "").ID)
		if run.Status != domain.RunFailed || run.Error.Code != walk.CodeTimeout {
			t.Fatalf("%s %+v\n%s", run.Status, run.Error, e.Journal(run.ID))
		}
		list := children(t, e, run.ID)
		if len(list) != 2 || registry.Count("free") != 2 {
			t.Fatalf("%d child runs, %d finally steps", len(list), registry.Count("free"))
		}
		if list[0].CreatedAt.After(list[1].CreatedAt) {
			list[0], list[1] = list[1], list[0]
		}
		if list[1].CreatedAt.Before(list[0].EndedAt) {
			t.Errorf("the second child run was created at %s, before the end of the first at %s", list[1].CreatedAt, list[0].EndedAt)
		}
		sendSignal(t, e, domain.Signal{Name: "go", Key: list[1].ID})
		if _, err := e.Do(run.ID, domain.ActionResume); err != nil {
			t.Fatal(err)
		}
		if run = e.Settle(run.ID); run.Status != domain.RunCompleted || len(children(t, e, run.ID)) != 2 {
			t.Errorf("after a resume: %s %+v, %d child runs", run.Status, run.Error, len(children(t, e, run.ID)))
		}
	})
}

// A timeout that passes while kairosd is stopped applies after the start.
func TestTheTimeoutOfAChildRunDuringAStop(t *testing.T) {
	t.Parallel()
	inBubble(t, enginetest.NewRegistry(), func(t *testing.T, e *enginetest.Engine, reopen func() *enginetest.Engine) {
		e.Save(`{id: slow, nodes: {w: {type: wait, input: {for: 1h}}}}`)
		run := e.Begin(e.Save(`{nodes: {sub: {type: plan, plan: slow, timeout: 5s}}}`), "")
		e.Until(run.ID, domain.RunWaiting, domain.WaitChild)
		e.Close()
		time.Sleep(2 * time.Minute)
		e = reopen()
		if run = e.Settle(run.ID); run.Status != domain.RunFailed || run.Error.Code != walk.CodeTimeout {
			t.Errorf("%s %+v\n%s", run.Status, run.Error, e.Journal(run.ID))
		}
	})
}

// A timeout of a child run with a step in doubt is not followed by a retry.
func TestTheTimeoutOfAChildRunInDoubt(t *testing.T) {
	t.Parallel()
	registry := enginetest.NewRegistry().Handle("pay", walk.EffectUnsafe, blocks)
	inBubble(t, registry, func(t *testing.T, e *enginetest.Engine, _ func() *enginetest.Engine) {
		e.Save(`{id: slow, nodes: {p: {type: pay}}}`)
		run := e.Settle(e.Run(`{nodes: {sub: {type: plan, plan: slow, timeout: 5s, retry: {max_attempts: 3, backoff: [1s]}}}}`, "").ID)
		if run.Status != domain.RunFailed || run.Error.Code != walk.CodeTimeout || registry.Count("p") != 1 {
			t.Errorf("%s %+v, %d payments\n%s", run.Status, run.Error, registry.Count("p"), e.Journal(run.ID))
		}
	})
}

// A cancellation of a run whose child run has timed out leaves the finally steps of the child run alone.
func TestACancelAfterTheTimeoutOfAChildRun(t *testing.T) {
	t.Parallel()
	inBubble(t, enginetest.NewRegistry(), func(t *testing.T, e *enginetest.Engine, _ func() *enginetest.Engine) {
		e.Save(`{id: slow, nodes: {w: {type: wait, input: {for: 1h}}}, finally: {free: {type: wait, input: {for: 10s}}, freed: {type: log,
			needs: [free], input: freed}}}`)
		run := e.Begin(e.Save(`{nodes: {sub: {type: plan, plan: slow, timeout: 5s}}}`), "")
		e.Until(run.ID, domain.RunWaiting, domain.WaitChild)
		time.Sleep(6 * time.Second)
		if _, err := e.Do(run.ID, domain.ActionCancel); err != nil {
			t.Fatal(err)
		}
		if run = e.Settle(run.ID); run.Status != domain.RunCancelled {
			t.Fatalf("the run is %s", run.Status)
		}
		child := e.Settle(children(t, e, run.ID)[0].ID)
		if child.Status != domain.RunCancelled || !strings.Contains(e.Journal(child.ID), "freed#1[-1] attempt 1 completed") {
			t.Errorf("the child run is %s\n%s", child.Status, e.Journal(child.ID))
		}
	})
}
