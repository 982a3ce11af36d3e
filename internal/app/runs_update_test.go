package app_test

import (
	"testing"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// An update stores limits and labels together, once per key, or changes nothing.
func TestAnUpdateIsAtomic(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	storetest.Plan(t, w.Store, asks)
	run, _ := runWithApproval(t, w)
	update := func(key, team string, rev, steps int64) (domain.Run, error) {
		return w.Runs.Update(t.Context(), app.RunUpdate{Meta: meta(apptest.Operator, key), ActionRequest: domain.ActionRequest{Run: run.ID,
			Rev: rev, Limits: domain.Limits{MaxSteps: steps}, Labels: map[string]string{"team": team}, Reason: "why"}})
	}
	for range 2 { // the second time is a repetition
		r, err := update("k", "red", 0, 50)
		if err != nil || r.Labels["team"] != "red" || r.Limits.MaxSteps != 50 {
			t.Fatalf("%v %+v %v", r.Labels, r.Limits, err)
		}
	}
	if labels, limits := audited(t, w, "run.label"), audited(t, w, "run.limits"); len(labels) != 1 || len(limits) != 1 ||
		labels[0].Object != "run:"+run.ID || string(labels[0].Detail) != `{"team":"red"}` || labels[0].Actor != limits[0].Actor {
		t.Errorf("audit log: %+v %+v", labels, limits)
	}
	if _, err := update("", "blue", 1, 0); domain.CodeOf(err) != domain.CodeStale {
		t.Errorf("labels for an old revision: %v", err)
	}
	if _, err := w.Runs.Act(t.Context(), app.ActRequest{Meta: meta(apptest.Operator, ""),
		ActionRequest: act(run.ID, domain.ActionCancel)}); err != nil {
		t.Fatal(err)
	}
	if _, err := update("", "blue", 0, 60); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("limits of a run that has ended: %v", err)
	}
	if r, err := w.Store.FindRun(t.Context(), run.ID); err != nil || r.Labels["team"] != "red" {
		t.Errorf("after a rejected update: %v %v", r.Labels, err)
	}
	if r, err := update("", "green", 0, 0); err != nil || r.Labels["team"] != "green" {
		t.Errorf("labels of a run that has ended: %v %v", r.Labels, err)
	}
}
