package app_test

import (
	"testing"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

func TestAPlanIsStoredOnce(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	put := func(by domain.Actor, key, source, base string) (app.StoredPlan, error) {
		return w.Plans.Store(
			t.Context(),
			app.PlanDocument{
				Meta:   app.Meta{By: by, Key: key},
				Source: []byte(source),
				Format: planner.FormatYAML,
				Origin: "upload",
				Base:   base,
			},
		)
	}
	if _, err := put(apptest.Operator, "", report, ""); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("an operator: %v", err)
	}
	if s, err := put(apptest.Author, "", "nodes: {a: {type: none}}", ""); domain.CodeOf(err) != domain.CodeInvalid || len(s.Problems) == 0 {
		t.Errorf("a document that is wrong: %v %v", s.Problems, err)
	}
	first, err := put(apptest.Author, "k", report, "")
	if err != nil || !first.Created || first.Plan.Key != "report" || first.Version.Author != "anna" || !first.Version.ByPerson {
		t.Fatalf("%+v %v", first, err)
	}
	for _, key := range []string{"k", ""} {
		if s, err := put(apptest.Author, key, report, ""); err != nil || s.Created || s.Version.Hash != first.Version.Hash {
			t.Errorf("again with the key %q: %+v %v", key, s, err)
		}
	}
	second, err := put(apptest.Author, "", "id: report\nnodes: {a: {type: set, input: 2}}\n", first.Version.Hash)
	if err != nil || second.Version.Number != 2 {
		t.Fatalf("%+v %v", second, err)
	}
	if _, err := put(apptest.Author, "", "id: report\nnodes: {a: {type: set, input: 3}}\n", first.Version.Hash); domain.CodeOf(
		err,
	) != domain.CodeStale {
		t.Errorf("over what was not seen: %v", err)
	}
	if v, err := w.Plans.Version(t.Context(), apptest.Viewer, "report", 0); err != nil || v.Number != 2 {
		t.Errorf("the current version: %+v %v", v, err)
	}
	if records := audited(t, w, "plan.version"); len(records) != 2 {
		t.Errorf("%d versions are in the audit log, want 2", len(records))
	}
}

// Operators may accept a planner's version, but not in place of a person's version.
func TestAPlannersVersionIsAccepted(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	store := func(input, origin string) domain.Version {
		t.Helper()
		_, v, _, _, err := w.Engine.SavePlan(
			t.Context(),
			apptest.Author,
			[]byte("id: p\nnodes: {a: {type: set, input: "+input+"}}\n"),
			planner.FormatYAML,
			origin,
			"",
		)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	accept := func(by domain.Actor, number int) (domain.Plan, error) {
		return w.Plans.Accept(t.Context(), app.VersionChange{Meta: app.Meta{By: by}, Plan: "p", Number: number, Reason: "good"})
	}
	store("1", "planner")
	if _, err := accept(apptest.Viewer, 0); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("a viewer: %v", err)
	}
	if p, err := accept(apptest.Operator, 0); err != nil || p.Stage != domain.StageUsed {
		t.Errorf("a draft: %+v %v", p, err)
	}
	if p, err := accept(apptest.Operator, 0); err != nil || p.Stage != domain.StageUsed {
		t.Errorf("accepted again: %+v %v", p, err)
	}
	if p, err := accept(apptest.Operator, 1); err != nil || p.Latest != 1 {
		t.Errorf("a version in use: %+v %v", p, err)
	}
	store("2", "upload")
	store("3", "planner")
	if _, err := accept(apptest.Operator, 3); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("in place of what a person wrote: %v", err)
	}
	if p, err := accept(apptest.Author, 3); err != nil || p.Latest != 3 {
		t.Errorf("an author: %+v %v", p, err)
	}
	if records, denied := audited(t, w, "plan.accept"), audited(t, w, "access.denied"); len(records) != 2 || len(denied) != 2 ||
		denied[0].Object != "plan:p" {
		t.Errorf("the audit log has %+v and %+v", records, denied)
	}
}

func TestAVersionIsRestored(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	e := w.Engine
	restore := func(by domain.Actor, number int, base, reason string) (domain.Plan, error) {
		return w.Plans.Restore(
			t.Context(),
			app.VersionChange{Meta: app.Meta{By: by, Key: reason}, Plan: "p", Number: number, Base: base, Reason: reason},
		)
	}
	first := e.Save("id: p\nmetadata: {env: prod, owner: ada}\nnodes: {a: {type: set, input: 1}}")
	second := e.Save("id: p\nmetadata: {env: dev}\nnodes: {a: {type: set, input: 2}}")
	by := func(kind, value string) int {
		t.Helper()
		l, err := e.Store.Plans(t.Context(), domain.PlanFilter{Facts: []domain.PlanFact{{Kind: kind, Value: value}}})
		if err != nil {
			t.Fatal(err)
		}
		return len(l.Items)
	}
	if by(domain.FactLabel, "env=dev") != 1 || by(domain.FactLabel, "env=prod") != 0 || by(domain.FactOwner, "ada") != 0 {
		t.Error("the plan is not found by its newest version alone")
	}
	if _, err := restore(apptest.Operator, 1, "", "no"); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("an operator restores: %v", err)
	}
	if _, err := restore(apptest.Author, 1, first.Hash, "no"); domain.CodeOf(err) != domain.CodeStale {
		t.Errorf("restored over what was not seen: %v", err)
	}
	p, err := restore(apptest.Author, 1, second.Hash, "v2 was wrong")
	if err != nil || p.Latest != 1 || p.LatestHash != first.Hash {
		t.Fatalf("restored: %+v, %v", p, err)
	}
	if by(domain.FactLabel, "env=prod") != 1 || by(domain.FactOwner, "ada") != 1 {
		t.Error("the plan is not found by what was restored")
	}
	if run := e.Begin(first, `null`); run.Version != 1 {
		t.Errorf("a run follows v%d", run.Version)
	}
	third := e.Save("id: p\nnodes: {a: {type: set, input: 3}}")
	if third.Number != 3 {
		t.Errorf("the next version is v%d, want v3", third.Number)
	}
	if p, err := restore(apptest.Author, 3, "", "again"); err != nil || p.Latest != 3 {
		t.Errorf("the current version is restored: %v", err)
	}
	if p, err := restore(apptest.Author, 1, second.Hash, "v2 was wrong"); err != nil || p.Latest != 3 {
		t.Errorf("the key of the first restoration: %+v %v", p, err)
	}
	if records := audited(t, w, "plan.restore"); len(records) != 1 || records[0].Reason != "v2 was wrong" {
		t.Errorf("the audit log has %+v", records)
	}
}
