package app_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

const asks = "id: asks\nnodes: {ask: {type: approval, input: {message: \"go on?\"}}}\n"

func meta(by domain.Actor, key string) app.Meta { return app.Meta{By: by, Key: key} }

// runWithApproval starts a run and waits until it waits for approval.
func runWithApproval(t *testing.T, w *apptest.World) (domain.Run, domain.Approval) {
	t.Helper()
	run, err := w.Runs.Start(
		t.Context(),
		app.StartRequest{Meta: meta(apptest.Operator, ""), StartRequest: domain.StartRequest{Plan: "asks"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	run = w.Engine.Until(run.ID, domain.RunWaiting, domain.WaitApproval)
	list, err := w.Approvals.List(t.Context(), apptest.Viewer, domain.ApprovalFilter{Run: run.ID})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%+v %v", list.Items, err)
	}
	return run, list.Items[0]
}

func act(run string, action domain.Action) domain.ActionRequest {
	return domain.ActionRequest{Run: run, Action: action, Reason: "test"}
}

// A key is used once per operation, however often and concurrently the request arrives, also in a
// later process (A44). A request without a key is carried out each time.
func TestAKeyExecutesOneAction(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kairos.db")
	s := storetest.OpenAt(t, path)
	w := apptest.On(t, s)
	storetest.Plan(t, s, asks)
	run, approval := runWithApproval(t, w)
	raise := func(w *apptest.World, key string) domain.Run {
		req := act(run.ID[len(run.ID)-8:], domain.ActionLimits)
		req.Raise = domain.Limits{MaxSteps: 100}
		r, err := w.Runs.Act(context.Background(), app.ActRequest{Meta: meta(apptest.Operator, key), ActionRequest: req})
		if err != nil {
			t.Errorf("raise: %v", err)
		}
		return r
	}
	before := raise(w, "").Limits.MaxSteps
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { raise(w, "k") })
	}
	all.Wait()
	if got := raise(w, "k").Limits.MaxSteps; got != before+100 {
		t.Errorf("raised by 100 with one key: from %d to %d", before, got)
	}
	start := func(w *apptest.World, plan string) (domain.Run, error) {
		return w.Runs.Start(t.Context(), app.StartRequest{Meta: meta(apptest.Operator, "k"), StartRequest: domain.StartRequest{Plan: plan}})
	}
	first, err := start(w, "asks")
	if err != nil {
		t.Fatal(err)
	}
	fork := func(w *apptest.World) domain.Run {
		r, err := w.Runs.Act(t.Context(), app.ActRequest{Meta: meta(apptest.Operator, "k"),
			ActionRequest: act(first.ID, domain.ActionFork)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	forked := fork(w)
	decide := func(w *apptest.World) (domain.Approval, error) {
		return w.Approvals.Decide(
			t.Context(),
			app.DecideRequest{Meta: meta(apptest.Operator, "k"), DecideRequest: domain.DecideRequest{Approval: approval.ID, Approve: true}},
		)
	}
	if p, err := decide(w); err != nil || p.Status != "approved" {
		t.Fatalf("%+v %v", p, err)
	}
	w.Engine.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	w = apptest.On(t, storetest.OpenAt(t, path))
	if again, err := start(w, "asks"); err != nil || again.ID != first.ID {
		t.Errorf("started again: %s, %v; want %s", again.ID, err, first.ID)
	}
	if _, err := start(w, "other"); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("the key of another request: %v", err)
	}
	if again := fork(w); again.ID != forked.ID {
		t.Errorf("forked again: %s, want %s", again.ID, forked.ID)
	}
	if got := raise(w, "k").Limits.MaxSteps; got != before+100 {
		t.Errorf("raised again by a later process: %d", got)
	}
	if p, err := decide(w); err != nil || p.Status != "approved" {
		t.Errorf("decided again: %+v %v", p, err)
	}
	if n := len(audited(t, w, "run.limits")); n != 2 {
		t.Errorf("%d changes of limits are audited, want 2", n)
	}
}

// Pausing a paused run and continuing one that is not paused have no effect. A repeated deletion
// with the same key succeeds.
func TestRepeatedActions(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	storetest.Plan(t, w.Store, asks)
	run, _ := runWithApproval(t, w)
	do := func(action domain.Action, key string) (domain.Run, error) {
		return w.Runs.Act(t.Context(), app.ActRequest{Meta: meta(apptest.Operator, key), ActionRequest: act(run.ID, action)})
	}
	for _, c := range []struct {
		action domain.Action
		paused bool
	}{{domain.ActionPause, true}, {domain.ActionPause, true}, {domain.ActionUnpause, false}, {domain.ActionUnpause, false}} {
		if r, err := do(c.action, ""); err != nil || r.Paused != c.paused {
			t.Errorf("%s: paused %v, %v", c.action, r.Paused, err)
		}
	}
	if n := len(audited(t, w, "run.pause")); n != 1 {
		t.Errorf("%d pauses are audited, want 1", n)
	}
	for range 2 {
		if r, err := do(domain.ActionCancel, ""); err != nil || r.Status != domain.RunCancelled {
			t.Fatalf("%s %v", r.Status, err)
		}
	}
	if n := len(audited(t, w, "run.cancel")); n != 1 {
		t.Errorf("%d cancellations are audited, want 1", n)
	}
	for range 2 {
		if r, err := do(domain.ActionDelete, "k"); err != nil || r.ID != run.ID {
			t.Errorf("delete: %q %v", r.ID, err)
		}
	}
	if _, err := do("dance", ""); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("an action that does not exist: %v", err)
	}
}

// The same person can repeat an answer. Another answer, or another person, is a conflict.
func TestAnAnswerIsRepeated(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	storetest.Plan(t, w.Store, asks)
	_, approval := runWithApproval(t, w)
	decide := func(by domain.Actor, answer string) (domain.Approval, error) {
		return w.Approvals.Decide(t.Context(), app.DecideRequest{Meta: meta(by, ""),
			DecideRequest: domain.DecideRequest{Approval: approval.ID, Answer: answer}})
	}
	for range 2 {
		if p, err := decide(apptest.Operator, "approve"); err != nil || p.Status != "approved" || p.DecidedBy != apptest.Operator.Name {
			t.Errorf("%+v %v", p, err)
		}
	}
	if _, err := decide(apptest.Operator, "reject"); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("another answer: %v", err)
	}
	if _, err := decide(apptest.Author, "approve"); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("another person: %v", err)
	}
	if n := len(audited(t, w, "approval.decide")); n != 1 {
		t.Errorf("%d answers are audited, want 1", n)
	}
}

func TestResolveADoubt(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	reg := enginetest.NewRegistry().Handle("pay", walk.EffectUnsafe, func(context.Context, *engine.Call) (engine.Result, error) {
		return engine.Result{}, errors.New("the line went dead")
	})
	w := apptest.With(t, s, reg)
	run := w.Engine.Run("{id: pays, nodes: {a: {type: pay}}}", "")
	w.Engine.Until(run.ID, domain.RunWaiting, domain.WaitInDoubt)
	req := app.ResolveRequest{
		Meta: meta(apptest.Operator, "k"),
		ResolveRequest: domain.ResolveRequest{
			Run:    run.ID,
			Node:   "a",
			Visit:  1,
			Action: "happened",
			Output: domain.RawJSON(`"paid"`),
			Reason: "it is in the ledger",
		},
	}
	for range 2 {
		if r, err := w.Runs.Resolve(t.Context(), req); err != nil || r.ID != run.ID {
			t.Errorf("%+v %v", r, err)
		}
	}
	if r := w.Engine.Until(run.ID, domain.RunCompleted, ""); string(r.Output) != `"paid"` {
		t.Errorf("the run gave %s", r.Output)
	}
	if records := audited(t, w, "node.resolve"); len(records) != 1 || records[0].Actor != "otto" {
		t.Errorf("audited: %+v", records)
	}
}

// A principal without permission cannot act on a run. The refusal is recorded in the audit log.
func TestRunActionsAreRefused(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	storetest.Plan(t, w.Store, asks)
	run, approval := runWithApproval(t, w)
	reader := domain.Actor{Name: "token ci", Role: domain.RoleAdmin, Source: "api", Scopes: "runs:read"}
	refused := 0
	for _, by := range []domain.Actor{apptest.Viewer, reader} {
		for name, do := range map[string]func() error{
			"start": func() error {
				_, err := w.Runs.Start(t.Context(), app.StartRequest{Meta: meta(by, ""), StartRequest: domain.StartRequest{Plan: "asks"}})
				return err
			},
			"cancel": func() error {
				_, err := w.Runs.Act(t.Context(), app.ActRequest{Meta: meta(by, "k"), ActionRequest: act(run.ID, domain.ActionCancel)})
				return err
			},
			"resolve": func() error {
				_, err := w.Runs.Resolve(t.Context(),
					app.ResolveRequest{Meta: meta(by, ""), ResolveRequest: domain.ResolveRequest{Run: run.ID, Node: "ask", Action: "skip"}})
				return err
			},
			"decide": func() error {
				_, err := w.Approvals.Decide(t.Context(),
					app.DecideRequest{Meta: meta(by, ""), DecideRequest: domain.DecideRequest{Approval: approval.ID, Approve: true}})
				return err
			},
			"assign": func() error {
				_, err := w.Approvals.Assign(t.Context(), app.AssignRequest{Meta: meta(by, ""), Approval: approval.ID, Assignee: "ana"})
				return err
			},
		} {
			if err := do(); domain.CodeOf(err) != domain.CodeForbidden {
				t.Errorf("%s by %s: %v", name, by.Name, err)
			}
			refused++
		}
	}
	if n := len(audited(t, w, "access.denied")); n != refused {
		t.Errorf("%d refusals are audited, want %d", n, refused)
	}
}

func TestAssignAnApproval(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	storetest.Plan(t, w.Store, asks)
	_, approval := runWithApproval(t, w)
	give := func(before, to string) (domain.Approval, error) {
		return w.Approvals.Assign(
			t.Context(),
			app.AssignRequest{Meta: meta(apptest.Operator, ""), Approval: approval.ID, Before: before, Assignee: to, Reason: " knows it "},
		)
	}
	if p, err := give("", " ana "); err != nil || p.Assignee != "ana" {
		t.Fatalf("%+v %v", p, err)
	}
	if _, err := give("", "otto"); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("assigned over another: %v", err)
	}
	if _, err := give("ana", strings.Repeat("a", 129)); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("a long name: %v", err)
	}
	if records := audited(t, w, "approval.assign"); len(records) != 1 || records[0].Reason != "knows it" || records[0].Run == "" {
		t.Errorf("audited: %+v", records)
	}
}
