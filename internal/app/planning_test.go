package app_test

import (
	"context"
	"errors"
	"testing"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// quickPlanner answers each request with one version, and counts its calls.
type quickPlanner struct {
	slowPlanner
	w      *apptest.World
	v      domain.Version
	unsafe []string
	asked  *int
}

func (q quickPlanner) Classify(string) domain.Classification { return domain.Classification{} }
func (q quickPlanner) Describe(p domain.Plan, v domain.Version) domain.PlannerPlan {
	return domain.PlannerPlan{ID: p.ID, Key: p.Key, Version: v.Number, Hash: v.Hash, Unsafe: q.unsafe}
}
func (q quickPlanner) PlanRequest(ctx context.Context, _ domain.Actor, _ domain.PlanningRequest) (domain.PlannerPlan, error) {
	*q.asked++
	p, err := q.w.Store.Plan(ctx, q.v.PlanID)
	return q.Describe(p, q.v), err
}
func (q quickPlanner) Ask(ctx context.Context, by domain.Actor, r domain.AskRequest) (domain.PlannerAnswer, error) {
	plan, err := q.PlanRequest(ctx, by, domain.PlanningRequest{})
	out := domain.PlannerAnswer{Plan: &plan, NeedsAcceptance: len(q.unsafe) > 0 && !r.Accept}
	if err != nil || r.PlanOnly || out.NeedsAcceptance {
		return out, err
	}
	run, err := q.w.Engine.Start(ctx, by, domain.StartRequest{Plan: plan.ID, Hash: plan.Hash, Receipt: r.Receipt})
	out.Run = run.ID
	return out, err
}

// With the same key, a request is planned once, with or without a run.
func TestARequestIsPlannedOnce(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	asked := 0
	c := w.Config
	q := quickPlanner{w: w, v: generated(t, w, "{id: answered, nodes: {a: {type: set, input: 1}}}"), asked: &asked}
	c.Planner = q
	a := app.New(c)
	for name, r := range map[string]domain.AskRequest{"a run": {Query: "collect"}, "a plan": {Query: "collect", PlanOnly: true}} {
		asked = 0
		repeated := false
		req := app.AskRequest{Meta: app.Meta{By: apptest.Operator, Key: name, Repeated: &repeated}, AskRequest: r}
		first, err := a.Planning.Ask(t.Context(), req)
		if err != nil || repeated || (first.Run == "") != r.PlanOnly {
			t.Fatalf("%s: %+v %v", name, first, err)
		}
		again, err := a.Planning.Ask(t.Context(), req)
		if err != nil || !repeated || asked != 1 || again.Run != first.Run || again.Plan == nil || again.Plan.Hash != first.Plan.Hash {
			t.Errorf("%s again: %+v, planned %d times, repeated %v, %v", name, again, asked, repeated, err)
		}
		req.Query = "something else"
		if _, err := a.Planning.Ask(t.Context(), req); err == nil {
			t.Errorf("%s: the key of another request was taken", name)
		}
	}
	asked = 0
	plan := app.PlanningRequest{
		Meta:            app.Meta{By: apptest.Operator, Key: "p"},
		PlanningRequest: domain.PlanningRequest{UserIntent: "collect"},
	}
	first, err := a.Planning.Make(t.Context(), plan)
	if again, againErr := a.Planning.Make(t.Context(), plan); err != nil || againErr != nil || asked != 1 || again.Hash != first.Hash {
		t.Errorf("make a plan: %+v %v, again %+v %v, planned %d times", first, err, again, againErr, asked)
	}
	q.unsafe = []string{"a"}
	c.Planner = q
	a = app.New(c)
	ask := app.AskRequest{Meta: app.Meta{By: apptest.Operator, Key: "unsafe"}, AskRequest: domain.AskRequest{Query: "pay"}}
	for range 2 {
		if out, err := a.Planning.Ask(t.Context(), ask); err != nil || !out.NeedsAcceptance || out.Run != "" {
			t.Errorf("a plan that has to be accepted: %+v %v", out, err)
		}
	}
	_, classifyErr := a.Planning.Classify(t.Context(), apptest.Viewer, "collect")
	ask.By, plan.By = apptest.Viewer, apptest.Viewer
	_, askErr := a.Planning.Ask(t.Context(), ask)
	_, planErr := a.Planning.Make(t.Context(), plan)
	if classifyErr != nil || domain.CodeOf(askErr) != domain.CodeForbidden || domain.CodeOf(planErr) != domain.CodeForbidden {
		t.Errorf("a viewer: %v", errors.Join(classifyErr, askErr, planErr))
	}
}

// With the same key, a document has one dry run. An operator may not start one.
func TestADryRunStartsOnce(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	repeated := false
	req := app.PlanTrial{Meta: app.Meta{By: apptest.Author, Key: "k", Repeated: &repeated}, Format: planner.FormatYAML,
		Source: []byte("{id: tried, nodes: {a: {type: set, input: 1}}}")}
	first, _, err := w.Plans.Try(t.Context(), req)
	if err != nil || repeated || !first.Dry() {
		t.Fatalf("%+v %v", first, err)
	}
	again, _, err := w.Plans.Try(t.Context(), req)
	if err != nil || !repeated || again.ID != first.ID {
		t.Errorf("again: %+v, repeated %v, %v", again, repeated, err)
	}
	if _, err := w.Store.Plan(t.Context(), "tried"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("a document that was tried is stored under its key: %v", err)
	}
	req.By = apptest.Operator
	if _, _, err := w.Plans.Try(t.Context(), req); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("an operator tries a document: %v", err)
	}
	req.By, req.Source = apptest.Author, []byte("nodes: {a: {type: none}}")
	req.Key = ""
	if _, problems, err := w.Plans.Try(t.Context(), req); domain.CodeOf(err) != domain.CodeInvalid || len(problems) == 0 {
		t.Errorf("a document with errors: %v %v", problems, err)
	}
}
