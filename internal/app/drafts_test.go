package app_test

import (
	"context"
	"testing"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/draft"
	"github.com/kairosd/kairosd/planner"
)

// slowPlanner is a planner that never returns a plan. It has one alternative.
type slowPlanner struct {
	app.Planner
	alternative domain.PlannerPlan
}

func (slowPlanner) Ask(ctx context.Context, _ domain.Actor, _ domain.AskRequest) (domain.PlannerAnswer, error) {
	<-ctx.Done()
	return domain.PlannerAnswer{}, ctx.Err()
}
func (slowPlanner) Planners() []string                     { return nil }
func (slowPlanner) Outline([]byte) []string                { return nil }
func (slowPlanner) Directed(string) (string, string, bool) { return "", "", false }
func (p slowPlanner) Alternative(context.Context, domain.Actor, domain.Version, string, bool) (domain.PlannerPlan, error) {
	return p.alternative, nil
}

// generated stores a plan like a planner.
func generated(t *testing.T, w *apptest.World, src string) domain.Version {
	t.Helper()
	_, v, _, _, err := w.Engine.SavePlan(t.Context(), apptest.Author, []byte(src), planner.FormatYAML, "planner", "")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// withDrafts returns a world with a slow planner.
func withDrafts(t *testing.T, w *apptest.World, p slowPlanner) *app.App {
	t.Helper()
	c := w.Config
	c.Planner = p
	c.Drafts = draft.New(draft.Config{Store: w.Store, Planner: p, Engine: w.Engine})
	t.Cleanup(c.Drafts.Close)
	return app.New(c)
}

// ready ends the planning of a draft with a version.
func ready(t *testing.T, w *apptest.World, d domain.Draft, v domain.Version) {
	t.Helper()
	d.State, d.DraftOutcome = domain.DraftReady, domain.DraftOutcome{
		Plan: domain.PlanRef{Key: v.PlanID, Version: v.Number},
		Hash: v.Hash,
		By:   "rules",
	}
	if moved, err := w.Store.EndDraft(t.Context(), d); err != nil || !moved {
		t.Fatal(moved, err)
	}
}

// Each operation on a draft is executed once per key, and its effect is recorded once.
func TestDraftsAreChangedOnceByAKey(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	a := withDrafts(t, w, slowPlanner{})
	v := generated(t, w, "{id: drafted, nodes: {a: {type: set, input: 1}}}")
	repeated := false
	m := app.Meta{By: apptest.Operator, Key: "k", Repeated: &repeated}
	start := app.DraftStart{Meta: m, DraftRequest: domain.DraftRequest{Query: " collect "}}
	first, err := a.Drafts.Start(t.Context(), start)
	if err != nil || repeated || first.State != domain.DraftPlanning || first.Query != "collect" {
		t.Fatal(first, repeated, err)
	}
	again, err := a.Drafts.Start(t.Context(), start)
	if err != nil || !repeated || again.ID != first.ID || len(audited(t, w, "draft.begin")) != 1 {
		t.Errorf("start again: %+v, repeated %v, %v", again, repeated, err)
	}
	accept := app.DraftAcceptance{Meta: m, Draft: first.ID, DraftAcceptance: domain.DraftAcceptance{Reason: "it is good"}}
	if _, err := a.Drafts.Accept(t.Context(), accept); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("accept what is being planned: %v", err)
	}
	if _, err := a.Drafts.Refine(t.Context(), app.DraftRefinement{Meta: m, Draft: first.ID,
		DraftRequest: domain.DraftRequest{Change: "more"}}); domain.CodeOf(
		err,
	) != domain.CodeConflict {
		t.Errorf("refine what is being planned: %v", err)
	}
	ready(t, w, first, v)
	repeated = false
	refine := app.DraftRefinement{Meta: m, Draft: first.ID, DraftRequest: domain.DraftRequest{Change: "more"}}
	next, err := a.Drafts.Refine(t.Context(), refine)
	if again, againErr := a.Drafts.Refine(t.Context(), refine); err != nil || againErr != nil || !repeated || again.ID != next.ID ||
		next.Parent != first.ID {
		t.Errorf("refine: %+v %v, again %+v %v", next, err, again, againErr)
	}
	for range 2 { // the second request has the same key
		if d, err := a.Drafts.Accept(t.Context(), accept); err != nil || d.State != domain.DraftAccepted {
			t.Errorf("accept: %+v %v", d, err)
		}
	}
	plan, err := w.Store.Plan(t.Context(), "drafted")
	if err != nil || plan.Stage != domain.StageUsed || len(audited(t, w, "draft.accept")) != 1 || len(audited(t, w, "plan.accept")) != 1 {
		t.Errorf("accepted: %+v %v", plan, err)
	}
	repeated = false
	run := app.DraftRun{Meta: m, Draft: first.ID}
	one, err := a.Drafts.Run(t.Context(), run)
	if two, again := a.Drafts.Run(t.Context(), run); err != nil || again != nil || !repeated || one.ID != two.ID || one.Hash != v.Hash {
		t.Errorf("run: %+v %v, again %+v %v", one, err, two, again)
	}
	if _, err := a.Drafts.Discard(t.Context(), app.DraftChange{Meta: m, Draft: first.ID}); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("discard what was accepted: %v", err)
	}
	for range 2 {
		if d, err := a.Drafts.Discard(t.Context(), app.DraftChange{Meta: m, Draft: next.ID}); err != nil ||
			d.State != domain.DraftDiscarded {
			t.Errorf("discard: %+v %v", d, err)
		}
	}
	if n := len(audited(t, w, "draft.discard")); n != 1 {
		t.Errorf("%d records of discarding", n)
	}
}

// Discarding a draft archives its plan, with one record each. A rejected acceptance leaves the
// draft unchanged.
func TestADraftAndItsPlanChangeTogether(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	a := withDrafts(t, w, slowPlanner{})
	by := app.Meta{By: apptest.Operator}
	v := generated(t, w, "{id: thrown, nodes: {a: {type: set, input: 1}}}")
	d, err := a.Drafts.Start(t.Context(), app.DraftStart{Meta: by, DraftRequest: domain.DraftRequest{Query: "collect"}})
	if err != nil {
		t.Fatal(err)
	}
	ready(t, w, d, v)
	if _, err := a.Plans.Archive(t.Context(), app.PlanChange{Meta: app.Meta{By: apptest.Author}, Plan: "thrown"}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Drafts.Accept(t.Context(), app.DraftAcceptance{Meta: by, Draft: d.ID}); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("accept a draft of an archived plan: %v", err)
	}
	if d, err := w.Store.Draft(t.Context(), d.ID); err != nil || d.State != domain.DraftReady || len(audited(t, w, "draft.accept")) != 0 {
		t.Errorf("after a refused acceptance: %+v %v", d, err)
	}
	if _, err := a.Plans.Unarchive(t.Context(), app.PlanChange{Meta: app.Meta{By: apptest.Author}, Plan: "thrown"}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Drafts.Discard(t.Context(), app.DraftChange{Meta: by, Draft: d.ID}); err != nil {
		t.Fatal(err)
	}
	if p, err := w.Store.Plan(t.Context(), "thrown"); err != nil || !p.Archived || len(audited(t, w, "plan.archive")) != 2 {
		t.Errorf("the plan of a discarded draft: %+v %v", p, err)
	}
	if _, err := a.Drafts.Run(t.Context(), app.DraftRun{Meta: by, Draft: d.ID}); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("run a discarded draft: %v", err)
	}
}

// Viewers can read drafts but cannot change them.
func TestViewersChangeNoDrafts(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	a := withDrafts(t, w, slowPlanner{})
	d, err := a.Drafts.Start(
		t.Context(),
		app.DraftStart{Meta: app.Meta{By: apptest.Operator}, DraftRequest: domain.DraftRequest{Query: "collect"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := a.Drafts.List(t.Context(), apptest.Viewer, false, 5); err != nil || len(list) != 1 {
		t.Errorf("%+v %v", list, err)
	}
	m := app.Meta{By: apptest.Viewer}
	for name, f := range map[string]func() error{
		"start": func() error { _, err := a.Drafts.Start(t.Context(), app.DraftStart{Meta: m}); return err },
		"refine": func() error {
			_, err := a.Drafts.Refine(t.Context(), app.DraftRefinement{Meta: m, Draft: d.ID})
			return err
		},
		"accept": func() error {
			_, err := a.Drafts.Accept(t.Context(), app.DraftAcceptance{Meta: m, Draft: d.ID})
			return err
		},
		"accept an alternative": func() error {
			_, err := a.Drafts.AcceptAlternative(t.Context(), app.AlternativeAcceptance{Meta: m, Hash: "h"})
			return err
		},
		"run": func() error { _, err := a.Drafts.Run(t.Context(), app.DraftRun{Meta: m, Draft: d.ID}); return err },
		"discard": func() error {
			_, err := a.Drafts.Discard(t.Context(), app.DraftChange{Meta: m, Draft: d.ID})
			return err
		},
	} {
		if err := f(); domain.CodeOf(err) != domain.CodeForbidden {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(audited(t, w, "access.denied")); n != 6 {
		t.Errorf("%d refusals were recorded", n)
	}
}
