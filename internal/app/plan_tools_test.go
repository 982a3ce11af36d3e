package app_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// tooled is an App with tools of each side-effect class.
func tooled(t *testing.T) *apptest.World {
	t.Helper()
	r := enginetest.NewRegistry()
	for name, class := range map[string]walk.Effect{
		"look": walk.EffectRead, "put": walk.EffectIdempotent, "pay": walk.EffectUnsafe, "think": walk.EffectIdempotent,
	} {
		add := r.Tool
		if name == "think" {
			add = r.Handle // a step of a model, and not a tool
		}
		add(name, class, func(context.Context, *engine.Call) (engine.Result, error) { return engine.Result{}, nil })
	}
	return apptest.With(t, storetest.Open(t), r)
}

// client is a token for programs.
func client(scopes string) domain.Actor {
	return domain.Actor{Name: "token ci", Role: domain.RoleOperator, Source: domain.SourceMCP, Scopes: scopes}
}

func TestAnnotationsOfPlanTools(t *testing.T) {
	t.Parallel()
	w := tooled(t)
	type hints struct{ readOnly, idempotent, destructive bool }
	safe, model, put, pay := hints{true, true, false}, hints{false, true, false}, hints{false, true, true}, hints{false, false, true}
	for source, want := range map[string]hints{
		"id: pure\nexpose: [mcp]\nnodes: {a: {type: set, input: 1}}":                                               safe,
		"id: look\nexpose: [mcp]\nnodes: {a: {type: look}, b: {type: approval, needs: [a], input: {message: ok}}}": safe,
		"id: think\nexpose: [mcp]\nnodes: {a: {type: think}}":                                                      model,
		"id: put\nexpose: [mcp]\nnodes: {a: {type: put}}":                                                          put,
		"id: pay\nexpose: [mcp]\nnodes: {a: {type: look}, b: {type: pay, needs: [a]}}":                             pay,
		"id: declared\nexpose: [mcp]\nnodes: {a: {type: pay, effect: idempotent}}":                                 put,
		"id: parent\nexpose: [mcp]\nnodes: {a: {type: plan, plan: pay}}":                                           pay,
		"id: parent2\nexpose: [mcp]\nnodes: {a: {type: plan, plan: look}}":                                         safe,
		"id: lost\nexpose: [mcp]\nnodes: {a: {type: plan, plan: gone}}":                                            pay,
		"id: itself\nexpose: [mcp]\nnodes: {a: {type: plan, plan: itself}, b: {type: look, needs: [a]}}":           safe,
		"id: last\nexpose: [mcp]\nnodes: {a: {type: look}}\nfinally: {z: {type: pay}}":                             pay,
		"id: both\nexpose: [mcp]\nnodes: {a: {type: plan, plan: parent}, b: {type: plan, plan: parent2}}\n":        pay,
	} {
		v := w.Engine.Save(source)
		defer func() {
			tool, err := w.PlanTools.Get(t.Context(), client(""), v.PlanKey)
			if got := (hints{tool.ReadOnly, tool.Idempotent, tool.Destructive}); err != nil || got != want {
				t.Errorf("%s: got %+v %v, want %+v", v.PlanKey, got, err, want)
			}
		}()
	}
}

func TestPlansThatAreTools(t *testing.T) {
	t.Parallel()
	w := tooled(t)
	w.Engine.Save("id: quiet\nnodes: {a: {type: noop}}")
	w.Engine.Save("id: once\nexpose: [mcp]\nnodes: {a: {type: noop}}")
	w.Engine.Save("id: once\nnodes: {a: {type: set, input: 2}}")
	for _, id := range []string{"refund", "deploy", "paused", "old"} {
		w.Engine.Save("id: " + id + "\nexpose: [mcp]\nnodes: {a: {type: set, input: done}}")
	}
	if _, err := w.Plans.Pause(t.Context(), app.PlanChange{Meta: app.Meta{By: apptest.Operator}, Plan: "paused"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Plans.Archive(t.Context(), app.PlanChange{Meta: app.Meta{By: apptest.Author}, Plan: "old"}); err != nil {
		t.Fatal(err)
	}
	for scopes, want := range map[string]string{
		"": "deploy refund", "mcp": "deploy refund", "mcp:refund": "refund", "mcp:refund mcp:deploy": "deploy refund", "mcp:quiet": "",
		"runs:read runs:write": "forbidden",
	} {
		list, err := w.PlanTools.List(t.Context(), client(scopes))
		var got []string
		for _, tool := range list {
			got = append(got, tool.Plan.Key)
		}
		slices.Sort(got)
		if err != nil {
			got = []string{string(domain.CodeOf(err))}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("with the scopes %q: %v, want %s", scopes, got, want)
		}
	}
	call := func(scopes, tool string) (domain.Run, domain.Code) {
		run, err := w.PlanTools.Call(t.Context(), app.ToolCall{Meta: app.Meta{By: client(scopes)}, Tool: tool})
		return run, domain.CodeOf(err)
	}
	for _, c := range []struct {
		scopes, tool string
		want         domain.Code
	}{
		{"mcp", "quiet", domain.CodeNotFound}, {"mcp", "once", domain.CodeNotFound}, {"mcp", "nothing", domain.CodeNotFound},
		{"mcp", "old", domain.CodeNotFound}, {"mcp", "paused", domain.CodeConflict}, {"mcp:refund", "deploy", domain.CodeForbidden},
		{"runs:write", "refund", domain.CodeForbidden}, {"mcp:refund", "refund", ""},
	} {
		if run, code := call(c.scopes, c.tool); code != c.want || code == "" && (run.Origin != "mcp" || run.Actor != "token ci") {
			t.Errorf("%s with the scopes %q: got %q and a run of %s by %s, want %q", c.tool, c.scopes, code, run.Origin, run.Actor, c.want)
		}
	}
	denied := audited(t, w, "access.denied")
	if len(denied) != 2 || denied[0].Source != "mcp" {
		t.Errorf("the audit log has %+v", denied)
	}
	if started := audited(t, w, "run.created"); len(started) != 1 || started[0].Source != "mcp" {
		t.Errorf("the audit log has %+v", started)
	}
}

func TestACallWithAKnownKeyReturnsItsRun(t *testing.T) {
	t.Parallel()
	w := tooled(t)
	w.Engine.Save("id: refund\nexpose: [mcp]\nnodes: {a: {type: pay}}")
	again := false
	call := func(key string) string {
		m := app.Meta{By: client("mcp"), Key: key, Repeated: &again}
		run, err := w.PlanTools.Call(t.Context(), app.ToolCall{Meta: m, Tool: "refund"})
		if err != nil {
			t.Fatal(err)
		}
		return run.ID
	}
	first := call("k1")
	if second := call("k1"); second != first || !again {
		t.Errorf("a second run %s with the key of %s", second, first)
	}
	if other := call("k2"); other == first {
		t.Error("another key returned the same run")
	}
}

func TestAwaitingRuns(t *testing.T) {
	t.Parallel()
	w := tooled(t)
	w.Engine.Save("id: refund\nexpose: [mcp]\nnodes: {a: {type: noop}, ask: {type: approval, needs: [a], input: {message: 'Pay?'}}}")
	run, err := w.PlanTools.Call(t.Context(), app.ToolCall{Meta: app.Meta{By: client("mcp")}, Tool: "refund"})
	if err != nil {
		t.Fatal(err)
	}
	f, err := w.PlanTools.Await(t.Context(), client("mcp"), run.ID, func(domain.Run) {})
	if err != nil || f.Run.WaitReason != domain.WaitApproval || len(f.Waits) != 1 || f.Waits[0].Message != "Pay?" {
		t.Errorf("got %+v %v, want a run that waits for an approval", f.Waits, err)
	}
	stranger := client("mcp")
	stranger.Name = "token other"
	if _, err := w.PlanTools.Await(t.Context(), stranger, run.ID, nil); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("another token reads the run: %v", err)
	}
	stranger.Scopes = "mcp runs:read"
	if _, err := w.PlanTools.Await(t.Context(), stranger, run.ID, nil); err != nil {
		t.Errorf("a token that may read runs: %v", err)
	}
}

// A51: the program that called a plan cannot answer the approval requests of its run, whatever its token permits.
func TestACallerCannotApprove(t *testing.T) {
	t.Parallel()
	w := tooled(t)
	w.Engine.Save("id: ask\nnodes: {ask: {type: approval, input: {message: 'Pay?'}}}")
	w.Engine.Save("id: refund\nexpose: [mcp]\nnodes:\n" +
		"  ask: {type: approval, input: {message: 'Pay?'}}\n  sub: {type: plan, plan: ask, needs: [ask]}")
	run, err := w.PlanTools.Call(t.Context(), app.ToolCall{Meta: app.Meta{By: client("")}, Tool: "refund"})
	if err != nil {
		t.Fatal(err)
	}
	decide := func(by domain.Actor) error {
		list, err := w.Store.Approvals(t.Context(), domain.ApprovalFilter{Status: "pending"})
		if err != nil || len(list.Items) != 1 {
			t.Fatalf("%d requests, %v", len(list.Items), err)
		}
		_, err = w.Approvals.Decide(t.Context(), app.DecideRequest{Meta: app.Meta{By: by},
			DecideRequest: domain.DecideRequest{Approval: list.Items[0].ID, Answer: "approve"}})
		return err
	}
	asAPI := client("")
	asAPI.Source = "api"
	for _, child := range []bool{false, true} {
		asking := run.ID
		if child {
			asking = childOf(t, w, run.ID)
		}
		if _, err := w.Engine.Wait(t.Context(), asking); err != nil {
			t.Fatal(err)
		}
		for _, by := range []domain.Actor{client(""), asAPI} {
			if err := decide(by); domain.CodeOf(err) != domain.CodeForbidden {
				t.Errorf("a caller by %s: %v", by.Source, err)
			}
		}
		if err := decide(apptest.Operator); err != nil {
			t.Errorf("a person: %v", err)
		}
	}
	if f, err := w.PlanTools.Await(t.Context(), client(""), run.ID, nil); err != nil || f.Run.Status != domain.RunCompleted {
		t.Errorf("got %s %v, want completed", f.Run.Status, err)
	}
}

// childOf waits until a run waits for a child, and returns the child.
func childOf(t *testing.T, w *apptest.World, run string) string {
	t.Helper()
	if _, err := w.Engine.WaitFor(t.Context(), run, func(r domain.Run) bool { return r.WaitReason == domain.WaitChild }); err != nil {
		t.Fatal(err)
	}
	d, err := w.Engine.Detail(t.Context(), run)
	if err != nil || len(d.Waits) != 1 {
		t.Fatalf("got %+v %v, want one child", d.Waits, err)
	}
	for err = errors.New("not yet"); err != nil; runtime.Gosched() { // the child is created after the wait is durable
		_, err = w.Store.FindRun(t.Context(), d.Waits[0].Child)
	}
	return d.Waits[0].Child
}
