package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/planfile"
	"github.com/kairosd/kairosd/planner/walk"
)

// profiled runs a step, a block, and two sub-plans. Only the plan, and the second sub-plan, declare profiles.
const profiled = `
id: pay
values: {bucket: none}
limits: {max_steps: 50}
nodes:
  own: {type: set, input: "${value.bucket}"}
  block: {needs: [own], do: {nodes: {inner: {type: set, input: "${value.bucket}"}}}}
  sub: {needs: [block], type: plan, plan: between, input: 1}
  ask: {needs: [sub], type: approval, input: {message: go on?}}
result: ["${output.own}", "${output.block}", "${output.sub}"]
profiles:
  dev: {values: {bucket: test}}
  prod: {values: {bucket: live}, labels: {env: prod}, priority: 5, limits: {max_steps: 40}, nodes: {ask: {timeout: 1h}}}
`

const (
	between = "id: between\nnodes: {a: {type: plan, plan: last, input: 1}}"
	last    = "id: last\nvalues: {bucket: other}\nnodes: {a: {type: set, input: \"${value.bucket}\"}}\n" +
		"profiles: {prod: {values: {bucket: last-live}}}"
)

func savedProfiles(e *enginetest.Engine) domain.Version {
	e.Save(last)
	e.Save(between)
	return e.Save(profiled)
}

func start(t *testing.T, e *enginetest.Engine, profile string) domain.Run {
	t.Helper()
	run, err := e.Start(t.Context(), enginetest.Operator, domain.StartRequest{Plan: "pay", Profile: profile})
	if err != nil {
		t.Fatal(err)
	}
	return e.Until(run.ID, domain.RunWaiting, domain.WaitApproval)
}

func approve(t *testing.T, e *enginetest.Engine, run string) domain.Run {
	t.Helper()
	list, err := e.Store.Approvals(t.Context(), domain.ApprovalFilter{Run: run, Status: "pending"})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("approvals: %+v, %v", list.Items, err)
	}
	if _, err := e.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: list.Items[0].ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	return e.Until(run, domain.RunCompleted, "")
}

// A run follows its profile: the plan, its blocks, and the sub-plans that declare the profile, also below one that
// does not. Without a profile, it runs as written.
func TestARunFollowsItsProfile(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	savedProfiles(e)
	for profile, want := range map[string]string{"": `["none","none","other"]`, "dev": `["test","test","other"]`,
		"prod": `["live","live","last-live"]`} {
		run := start(t, e, profile)
		done := approve(t, e, run.ID)
		if string(done.Output) != want || done.Profile != profile {
			t.Errorf("profile %q: output %s, profile %q", profile, done.Output, done.Profile)
		}
		if prod := profile == "prod"; prod != (run.Labels["env"] == "prod") || prod != (run.Priority == 5) ||
			prod != (run.Limits.MaxSteps == 40) {
			t.Errorf("profile %q: labels %v, priority %d, limits %+v", profile, run.Labels, run.Priority, run.Limits)
		}
		children, err := e.Store.Lineage(t.Context(), run.ID)
		if err != nil || len(children) != 2 {
			t.Fatalf("%d children, %v", len(children), err)
		}
		for _, child := range children {
			if child.Profile != profile {
				t.Errorf("the child run of plan %s has the profile %q", child.PlanKey, child.Profile)
			}
		}
	}
}

// A restart compiles the plan with the profile of the run.
func TestARestartKeepsTheProfile(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	e := enginetest.OpenOn(t, s, enginetest.NewRegistry(), engine.Options{})
	savedProfiles(e)
	run := start(t, e, "prod")
	e.Close()
	e = enginetest.OpenOn(t, s, enginetest.NewRegistry(), engine.Options{})
	if done := approve(t, e, run.ID); string(done.Output) != `["live","live","last-live"]` {
		t.Errorf("output %s", done.Output)
	}
}

// A rerun or a fork keeps the profile, or has another one. In a fork,
// steps that differ with the other profile run again.
func TestARerunChoosesTheProfile(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	savedProfiles(e)
	run := start(t, e, "prod")
	approve(t, e, run.ID)
	none, dev, unknown := "", "dev", "prdo"
	for _, c := range []struct {
		profile *string
		want    string
		output  string
	}{{nil, "prod", `["live","live","last-live"]`}, {&dev, "dev", `["test","test","other"]`}, {&none, "", `["none","none","other"]`}} {
		req := domain.ActionRequest{Run: run.ID, Action: domain.ActionRerun, Profile: c.profile}
		pre, err := e.Preview(t.Context(), enginetest.Operator, req)
		if err != nil || pre.Profile != c.want {
			t.Errorf("the preview has the profile %q, %v", pre.Profile, err)
		}
		req.Digest = pre.Digest
		again, err := e.Act(t.Context(), enginetest.Operator, req)
		if err != nil {
			t.Fatal(err)
		}
		e.Until(again.ID, domain.RunWaiting, domain.WaitApproval)
		if done := approve(t, e, again.ID); done.Profile != c.want || string(done.Output) != c.output {
			t.Errorf("the rerun has the profile %q and the output %s", done.Profile, done.Output)
		}
	}
	_, err := e.Act(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionRerun, Profile: &unknown})
	if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "dev, prod") {
		t.Errorf("a rerun with an unknown profile: %v", err)
	}
	after := func(node string) int64 {
		t.Helper()
		pre, err := e.Preview(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionFork})
		i := slices.IndexFunc(pre.Points, func(p domain.ForkPoint) bool { return p.Node == node })
		if err != nil || i < 0 {
			t.Fatalf("fork points: %+v, %v", pre.Points, err)
		}
		return pre.Points[i].Seq
	}
	other, err := e.Act(t.Context(), enginetest.Operator,
		domain.ActionRequest{Run: run.ID, Action: domain.ActionFork, At: after("own"), Profile: &dev})
	if err != nil {
		t.Fatalf("a fork with another profile: %v", err)
	}
	e.Until(other.ID, domain.RunWaiting, domain.WaitApproval)
	if done := approve(t, e, other.ID); done.Profile != "dev" || string(done.Output) != `["test","test","other"]` {
		t.Errorf("the fork with another profile has the profile %q and the output %s", done.Profile, done.Output)
	}
	_, err = e.Act(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionFork, Profile: &unknown})
	if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "dev, prod") {
		t.Errorf("a fork with an unknown profile: %v", err)
	}
	fork, err := e.Act(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionFork, At: 3})
	if err != nil || fork.Profile != "prod" {
		t.Fatalf("the fork has the profile %q, %v", fork.Profile, err)
	}
}

// A rerun with another version needs its profile there.
func TestAnotherVersionNeedsTheProfile(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	savedProfiles(e)
	run := start(t, e, "prod")
	e.Save(strings.Replace(profiled, "  prod:", "  live:", 1))
	req := domain.ActionRequest{Run: run.ID, Action: domain.ActionRerun, Version: -1}
	if _, err := e.Act(t.Context(), enginetest.Operator, req); domain.CodeOf(err) != domain.CodeInvalid ||
		!strings.Contains(err.Error(), "dev, live") {
		t.Errorf("a rerun with a version without the profile: %v", err)
	}
	live := "live"
	req.Profile = &live
	if again, err := e.Act(t.Context(), enginetest.Operator, req); err != nil || again.Profile != "live" || again.Version != 2 {
		t.Errorf("a rerun with the new name: %q v%d, %v", again.Profile, again.Version, err)
	}
}

// Bad input P62: an unknown profile starts no run, and the error lists the known ones.
func TestAnUnknownProfileStartsNoRun(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	savedProfiles(e)
	for plan, want := range map[string]string{"pay": "dev, prod", "between": "declares none"} {
		_, err := e.Start(t.Context(), enginetest.Operator, domain.StartRequest{Plan: plan, Profile: "prdo"})
		if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", plan, err)
		}
	}
	list, err := e.Store.Runs(t.Context(), domain.RunFilter{})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("%d runs, %v", len(list.Items), err)
	}
}

// A dry run of a document that is not stored has a profile, too.
func TestATrialHasAProfile(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	src := "id: p\nvalues: {n: 1}\nnodes: {a: {type: set, input: \"${value.n}\"}}\nprofiles: {dev: {values: {n: 2}}}"
	files := []planfile.File{planfile.Alone([]byte(src), "yaml")}
	run, problems, err := e.TryPlan(t.Context(), enginetest.Operator, files, domain.StartRequest{Profile: "dev"})
	if err != nil {
		t.Fatal(err, problems)
	}
	if done := e.Until(run.ID, domain.RunCompleted, ""); string(done.Output) != "2" {
		t.Errorf("output %s", done.Output)
	}
}

// An undo has the values of the profile of its run, and the profile itself.
func TestAnUndoFollowsTheProfile(t *testing.T) {
	t.Parallel()
	reg := enginetest.NewRegistry()
	undone := make(chan any, 1)
	reg.Tool("charge", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
		return engine.Result{Output: "c1"}, nil
	})
	reg.Tool("refund", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
		undone <- c.Input
		return engine.Result{}, nil
	})
	e := enginetest.Open(t, reg)
	e.Save("id: pay\nvalues: {account: none}\nnodes: {a: {type: tool, tool: charge, input: {to: \"${value.account}\"}," +
		" undo: {tool: refund, input: {to: \"${value.account}\"}}}}\nprofiles: {prod: {values: {account: live}}}")
	run, err := e.Start(t.Context(), enginetest.Operator, domain.StartRequest{Plan: "pay", Profile: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	e.Until(run.ID, domain.RunCompleted, "")
	req := domain.ActionRequest{Run: run.ID, Action: domain.ActionUndo}
	pre, err := e.Preview(t.Context(), enginetest.Operator, req)
	if err != nil {
		t.Fatal(err)
	}
	req.Digest = pre.Digest
	undo, err := e.Act(t.Context(), enginetest.Operator, req)
	if err != nil {
		t.Fatal(err)
	}
	e.Until(undo.ID, domain.RunCompleted, "")
	if input, _ := (<-undone).(map[string]any); input["to"] != "live" || undo.Profile != "prod" {
		t.Errorf("undone with %v, profile %q", input, undo.Profile)
	}
}
