package engine_test

import (
	"context"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// During maintenance, running steps finish and nothing starts: no next node, no new run, and no due
// timer. Afterwards, everything continues automatically.
func TestMaintenance(t *testing.T) {
	t.Parallel()
	gate, started := make(chan struct{}), make(chan struct{}, 1)
	reg := enginetest.NewRegistry().Handle("hold", walk.EffectIdempotent, func(ctx context.Context, _ *engine.Call) (engine.Result, error) {
		started <- struct{}{}
		select {
		case <-gate:
		case <-ctx.Done():
		}
		return engine.Result{Output: 1}, nil
	}).Handle("echo", walk.EffectIdempotent, echo)
	e := enginetest.Open(t, reg)
	run := e.Run(`{nodes: {a: {type: hold}, b: {type: echo, input: 2}}, edges: [{from: a, to: b}]}`, "")
	asking := e.Run(`{nodes: {q: {type: approval, input: {message: "go on?"}}, c: {type: echo, input: 3}}, edges: [{from: q, to: c}]}`, "")
	e.Until(asking.ID, domain.RunWaiting, domain.WaitApproval)
	<-started
	e.Maintain(true)
	if !e.Maintaining() {
		t.Fatal("it does not say so")
	}
	fresh := e.Run(`{nodes: {d: {type: echo, input: 4}}}`, "")
	events, err := e.Subscribe(t.Context(), 0, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	close(gate)
	// The result of the running node is recorded, and a decision is accepted. Neither starts
	// anything.
	for ev := range events {
		if ev.Type == "node_completed" {
			break
		}
	}
	open, err := e.Store.Approvals(t.Context(), domain.ApprovalFilter{Run: asking.ID})
	if err != nil || len(open.Items) != 1 {
		t.Fatal(open, err)
	}
	if _, err := e.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: open.Items[0].ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	if n := reg.Count("b") + reg.Count("c") + reg.Count("d"); n != 0 {
		t.Errorf("%d nodes started", n)
	}
	if r, err := e.Store.Run(t.Context(), fresh.ID); err != nil || r.Status != domain.RunQueued {
		t.Errorf("a new run is %s, %v", r.Status, err)
	}
	cancelled := e.Run(`{nodes: {d: {type: echo, input: 5}}}`, "")
	if _, err := e.Do(cancelled.ID, domain.ActionCancel); err != nil {
		t.Error(err)
	}
	e.Until(cancelled.ID, domain.RunCancelled, "")
	e.Maintain(false)
	for _, id := range []string{run.ID, asking.ID, fresh.ID} {
		e.Until(id, domain.RunCompleted, "")
	}
	if reg.Count("a") != 1 || reg.Count("b") != 1 || reg.Count("c") != 1 || reg.Count("d") != 1 {
		t.Errorf("calls: %+v", reg.Calls())
	}
}
